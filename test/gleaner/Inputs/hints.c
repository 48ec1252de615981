// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hints MODE: a program with libvfrt, whose holders of locks lose their CPUs.
//   none      there is no page
//   here      there is one
//   seen      a holder that sleeps, and one that a hog preempts, is off its CPU, and no longer when it runs
//   unrelated a lock's waiter sees that its holder runs while holders of another lock are off their CPUs
//   child     a forked child has the page, and its holders are seen
//   thread    of a thread, from a thread that a thread has created
//   late      of a thread that was there before the process asked
//   read      the page cannot be written
//   lock      threads count under a mutex
//   leaves    after an exec the page tells nothing more of a process, which may have privileges now
//   again     runs itself with the argument `here`
//   wait      prints a line, waits for one, then `lock`
//   filtered  runs itself under a filter of system calls, which ends the process for a socket, with `none`
// A failed check ends it with a sentence.

#include "check.h"
#include "blocking-sync/holder.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *self;
static vf_mutex a = VF_MUTEX_INIT, b = VF_MUTEX_INIT;
static int stop;

static void pin(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static int cpu_number(int which) {
  cpu_set_t all;
  CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && which-- == 0)
      return cpu;
  return -1;
}

static bool is_set(const int *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }
static void set(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

static pthread_t start(void *(*body)(void *), void *arg) {
  pthread_t id;
  CHECK(pthread_create(&id, NULL, body, arg) == 0);
  return id;
}

/* Holds a mutex that counts as contended, and says in the lock's own words where it runs. That is unknown after a switch
 * that the kernel has not announced, see check_hints.py. */
static void hold(vf_mutex *mutex) {
  vf_mutex_lock(mutex);
  vf_holder_took(mutex, 0);
  for (int tries = 0; mutex->holder_thread_ == 0 && tries < 100; ++tries) {
    usleep(1000);
    vf_holder_took(mutex, 0);
  }
  CHECK(mutex->holder_thread_ != 0);
}

struct holder {
  vf_mutex *mutex;
  int cpu, sleeps, holds, wakes, runs;
  uint64_t beats; /* while it runs */
};

static void *hold_it(void *arg) {
  struct holder *h = arg;
  pin(h->cpu);
  hold(h->mutex);
  set(&h->holds);
  while (h->sleeps && !is_set(&h->wakes))
    usleep(20000);
  set(&h->runs);
  while (!is_set(&stop))
    __atomic_store_n(&h->beats, h->beats + 1, __ATOMIC_RELAXED);
  vf_mutex_unlock(h->mutex);
  return NULL;
}

static void *hog(void *arg) {
  pin(*(int *)arg);
  while (!is_set(&stop))
    ;
  return NULL;
}

static bool beats_in(const struct holder *h, double us) {
  uint64_t before = __atomic_load_n(&h->beats, __ATOMIC_RELAXED);
  for (double until = seconds() + us / 1e6; seconds() < until;)
    ;
  return __atomic_load_n(&h->beats, __ATOMIC_RELAXED) != before;
}

/* Looks for so long, and until it has seen the holder run, and was told that it is away, often
 * enough. What is said is compared with whether it does something just before and just after.
 * The host may take its vCPU away, which nobody says here. */
struct looks {
  int runs, runs_said_off, away, away_said_off;
};

static struct looks look(const struct holder *h, double s, int runs, int away) {
  struct looks l = {0, 0, 0, 0};
  for (double until = seconds() + s; seconds() < until || l.runs < runs || l.away_said_off < away;) {
    bool before = beats_in(h, 5), off = vf_holder_is_preempted(h->mutex), after = beats_in(h, 5);
    if (before && after)
      ++l.runs, l.runs_said_off += off;
    else if (!before && !after)
      ++l.away, l.away_said_off += off;
    if (l.runs + l.away > 100)
      usleep((l.runs + l.away) % 7 * 100); /* Let others have this CPU. */
  }
  return l;
}

/* Some are wrong: those of a look in which one of both lost its CPU. */
static void check(struct looks l, bool sleeps) {
  fprintf(stderr, "runs %d, said off %d; away %d, said off %d\n", l.runs, l.runs_said_off, l.away, l.away_said_off);
  CHECK(l.runs_said_off * 20 <= l.runs && (!sleeps || l.away_said_off * 20 >= l.away * 19));
}

static void wait_until(const int *flag) {
  while (!is_set(flag))
    usleep(1000);
}

static void seen(void) {
  int first = cpu_number(0), second = cpu_number(1);
  struct holder sleeper = {.mutex = &a, .cpu = second, .sleeps = 1};
  pthread_t id = start(hold_it, &sleeper), other;
  wait_until(&sleeper.holds);
  usleep(10000);
  pin(first);
  check(look(&sleeper, 0.05, 0, 100), true);
  set(&sleeper.wakes);
  wait_until(&sleeper.runs);
  check(look(&sleeper, 0.05, 100, 0), false);
  other = start(hog, &second);
  check(look(&sleeper, 0.3, 200, 200), false);
  set(&stop);
  pthread_join(id, NULL);
  pthread_join(other, NULL);
}

static void unrelated(void) {
  int first = cpu_number(0), second = cpu_number(1);
  struct holder runs = {.mutex = &a, .cpu = second}, sleeper = {.mutex = &b, .cpu = second, .sleeps = 1};
  pthread_t one = start(hold_it, &sleeper);
  wait_until(&sleeper.holds);
  pthread_t two = start(hold_it, &runs);
  wait_until(&runs.runs);
  pin(first);
  /* All of the time a holder of this process is off its CPU, the same as that of the other. */
  struct looks of_b = look(&sleeper, 0.1, 0, 200), of_a = look(&runs, 0.1, 200, 0);
  check(of_b, true);
  check(of_a, false);
  set(&sleeper.wakes);
  set(&stop);
  pthread_join(one, NULL);
  pthread_join(two, NULL);
}

static void *spawn(void *arg) {
  pthread_join(start(hold_it, arg), NULL);
  return NULL;
}

static int asked;

static void *hold_late(void *arg) {
  wait_until(&asked);
  return hold_it(arg);
}

static void late(void) {
  struct holder sleeper = {.mutex = &a, .cpu = cpu_number(0), .sleeps = 1};
  pthread_t id = start(hold_late, &sleeper);
  usleep(20000);
  CHECK(vf_thread_states_ask(getenv("ASKED_LATE")) == 0 && vf_thread_states_are_there());
  usleep(20000);
  set(&asked);
  wait_until(&sleeper.holds);
  usleep(10000);
  check(look(&sleeper, 0.05, 0, 100), true);
  set(&sleeper.wakes);
  set(&stop);
  pthread_join(id, NULL);
}

static void of_thread(void) {
  struct holder sleeper = {.mutex = &a, .cpu = cpu_number(0), .sleeps = 1};
  pthread_t id = start(spawn, &sleeper);
  wait_until(&sleeper.holds);
  usleep(10000);
  check(look(&sleeper, 0.05, 0, 100), true);
  set(&sleeper.wakes);
  set(&stop);
  pthread_join(id, NULL);
}

static void check_child(pid_t child) {
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int ended[2];

static void daemonize(void) {
  if (fork() != 0)
    _exit(0);
  usleep(100000);
  of_thread();
  CHECK(write(ended[1], "", 1) == 1);
  _exit(0);
}

static void child(void) {
  CHECK(pipe(ended) == 0);
  pid_t one = fork();
  if (one == 0) {
    CHECK(vf_thread_states_are_there());
    of_thread();
    _exit(0);
  }
  check_child(one);
  one = fork();
  if (one == 0) /* Its parent ends first, as a daemon's. */
    daemonize();
  check_child(one);
  char byte;
  close(ended[1]);
  CHECK(read(ended[0], &byte, 1) == 1);
}

static void cannot_be_written(void) {
  void *begin = (void *)((uintptr_t)vf_thread_records() & ~4095ul);
  CHECK(mprotect(begin, 4096, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
}

static void leaves(void) {
  int begins[2];
  CHECK(pipe2(begins, O_CLOEXEC) == 0);
  vf_thread_number number = 0;
  while (number == 0) { /* It may move to another CPU while it looks. */
    usleep(1000);
    number = vf_own_thread(vf_cpu_plus_1());
  }
  if (fork() == 0) {
    char byte;
    close(begins[1]);
    CHECK(read(begins[0], &byte, 1) == 0); /* The other program begins. */
    for (int i = 0; i < 1000 && vf_thread_states.threads[number] != 0; ++i)
      usleep(1000);
    CHECK(vf_thread_states.threads[number] == 0);
    _exit(0);
  }
  execl(self, self, "waits", NULL);
}

static int counter;
static void *count(void *arg) {
  for (int i = 0; i < 20000; ++i) {
    vf_mutex_lock(&a);
    ++counter;
    vf_mutex_unlock(&a);
  }
  return arg;
}

static void lock(void) {
  pthread_t ids[8];
  for (int i = 0; i < 8; ++i)
    ids[i] = start(count, NULL);
  for (int i = 0; i < 8; ++i)
    pthread_join(ids[i], NULL);
  CHECK(counter == 160000);
}

static void filtered(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {4, code};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
  execl(self, self, "none", NULL);
}

static void of_child(void) {
  int status;
  CHECK(wait(&status) > 0 && status == 0);
}

static void again(void) { execl(self, self, "here", NULL); }
static void here(void) {}

static void locks_when_told(void) {
  puts("ready");
  fflush(stdout);
  getchar();
  lock();
}

enum hints { ABSENT, THERE, ANY };
static const struct {
  const char *name;
  enum hints hints; /* whether they are there at the beginning */
  void (*run)(void);
} modes[] = {
    {"none", ABSENT, lock},
    {"late", ABSENT, late},
    {"waits", ANY, of_child},
    {"seen", THERE, seen},
    {"unrelated", THERE, unrelated},
    {"child", THERE, child},
    {"thread", THERE, of_thread},
    {"read", THERE, cannot_be_written},
    {"lock", THERE, lock},
    {"leaves", THERE, leaves},
    {"again", THERE, again},
    {"here", THERE, here},
    {"filtered", THERE, filtered},
    {"wait", THERE, locks_when_told},
};

int main(int argc, char **argv) {
  CHECK(argc == 2);
  self = argv[0];
  alarm(60);
  size_t i = 0;
  while (i != sizeof modes / sizeof modes[0] && strcmp(argv[1], modes[i].name) != 0)
    ++i;
  CHECK(i != sizeof modes / sizeof modes[0]);
  if (modes[i].hints != ANY)
    CHECK(vf_thread_states_are_there() == (modes[i].hints == THERE));
  modes[i].run();
  return 0;
}
