// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program may notice of libvfspin.so: nothing. Each case runs threads
// that spin while the library interrupts them, and does what could go wrong.
//
// REQUIRES: host-x86_64, native, sanitizers, spin-unmodified, perf-events
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror %s -pthread -ldl -o %t
// RUN: clang -std=gnu11 -O1 -shared -fPIC -DMODULE %s -o %t.so
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -w -fsanitize=undefined,address %s -pthread -ldl -o %t-sanitized
// RUN: bash %S/Inputs/guest.sh %t %vf_lib/libvfspin.so %t.stats

#ifdef MODULE
void wait_for(volatile int *flag) {
  while (!*flag)
    ;
}
#else
#include "Inputs/guest.h"

#include "Inputs/guest-signals.h"

// From now on a filter kills the process at calls that only the library makes.
static void filter(void) {
  static const int calls[] = {SYS_perf_event_open, SYS_timer_create,
                              SYS_process_vm_readv, SYS_ioctl,
                              SYS_sched_getscheduler};
  together(3, 0, 200);
  struct sock_filter code[16] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned n = 1;
  for (unsigned i = 0; i != 5; ++i) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog all = {(unsigned short)n, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
               &all) == 0);
  unsetenv("GUEST_AWAITS");
  together(3, 0, 400);
}

static void forks(void) {
  together(3, 0, 400);
  for (int i = 0; i != 3; ++i) {
    pid_t child = fork();
    if (child == 0) {
      together(3, 0, 300);
      _exit(7);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  }
}

// Threads spin while others fork, vfork and spawn.
static void executes(void) {
  pthread_t thread[3];
  for (int i = 0; i != 3; ++i)
    pthread_create(&thread[i], NULL, spin, NULL);
  work(200);
  char *arguments[] = {(char *)"true", NULL};
  for (int i = 0; i != 20; ++i) {
    pid_t child = i % 2 ? vfork() : fork();
    int status;
    if (child == 0) {
      execvp("true", arguments);
      _exit(9);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    MUST(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0);
    MUST(waitpid(child, &status, 0) == child && status == 0);
  }
  // The process itself becomes another one while its threads are armed.
  execl(program, program, "executed", NULL);
  MUST(false);
}
static void executed(void) { pass(100); }

static void *ends_last(void *data) {
  (void)data;
  work(300);
  stop = 1;
  return NULL;
}
// The process ends by its last thread.
static void main_ends(void) {
  pthread_t thread[3];
  for (int i = 0; i != 3; ++i)
    pthread_create(&thread[i], NULL, spin, NULL);
  pthread_create(&thread[0], NULL, ends_last, NULL);
  pthread_exit(NULL);
}

// After its threads have ended, a process is allowed what needs it to have one.
static void alone_again(void) {
  together(3, 0, 400);
  for (int i = 0; i != 200 && unshare(CLONE_NEWUSER) != 0; ++i) {
    MUST(errno == EINVAL);
    MUST(i != 199);
    pass(20);
  }
}

// All descriptors are closed, and others get their numbers.
static void closes(void) {
  pthread_t thread[3];
  for (int i = 0; i != 3; ++i)
    pthread_create(&thread[i], NULL, spin, NULL);
  work(200);
  for (int file = 3; file != 1000; ++file)
    close(file);
  int pipes[400];
  for (int i = 0; i != 400; i += 2)
    MUST(pipe(&pipes[i]) == 0);
  pass(400);
  for (int i = 0; i != 400; ++i)
    MUST(fcntl(pipes[i], F_GETFD) >= 0 && fcntl(pipes[i], F_GETSIG) == 0);
  stop = 1;
  for (int i = 0; i != 3; ++i)
    pthread_join(thread[i], NULL);
  for (int i = 0; i != 400; i += 2)
    MUST(write(pipes[i + 1], "x", 1) == 1 && close(pipes[i]) == 0);
}

static void unloads(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s.so", program);
  for (int round = 0; round != 3; ++round) {
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    MUST(module);
    void (*wait_for)(volatile int *) =
        (void (*)(volatile int *))(void *)dlsym(module, "wait_for");
    pthread_t thread[3];
    stop = 0;
    for (int i = 0; i != 3; ++i)
      pthread_create(&thread[i], NULL, (void *(*)(void *))(void *)wait_for, (void *)&stop);
    work(100);
    stop = 1;
    for (int i = 0; i != 3; ++i)
      pthread_join(thread[i], NULL);
    dlclose(module);
  }
  void *self = dlopen("libvfspin.so", RTLD_NOW | RTLD_NOLOAD);
  if (self)
    dlclose(self);
}

static void *cancelled(void *data) {
  (void)data;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  while (!stop)
    ;
  return NULL;
}
static void cancels(void) {
  for (int round = 0; round != 4; ++round) {
    pthread_t thread[3];
    void *result;
    for (int i = 0; i != 3; ++i)
      pthread_create(&thread[i], NULL, cancelled, NULL);
    work(100);
    for (int i = 0; i != 3; ++i) {
      pthread_cancel(thread[i]);
      MUST(pthread_join(thread[i], &result) == 0 && result == PTHREAD_CANCELED);
    }
  }
}

// System calls that block end early only if the program's signals say so.
static int interrupted;
static void *blocks(void *data) {
  (void)data;
  while (!stop) {
    uint64_t end = now_ms() + 2;
    while (now_ms() < end && !stop)
      ;
    if (poll(NULL, 0, 1) < 0)
      __atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
    struct timespec t = {0, 500000};
    if (nanosleep(&t, NULL) != 0)
      __atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}
static void calls(void) {
  pthread_t thread[5];
  for (int i = 0; i != 5; ++i)
    pthread_create(&thread[i], NULL, i < 2 ? spin : blocks, NULL);
  work(600);
  stop = 1;
  for (int i = 0; i != 5; ++i)
    pthread_join(thread[i], NULL);
  MUST(interrupted == 0);
}

// Threads that are left alone.
static void *real_time(void *data) {
  struct sched_param one = {.sched_priority = 1};
  if (pthread_setschedparam(pthread_self(), SCHED_RR, &one) != 0)
    *(int *)data = 1;
  uint64_t end = now_ms() + 200;
  while (now_ms() < end)
    ;
  for (int file = 200; file != 1000; ++file) {
    struct f_owner_ex owner;
    MUST(fcntl(file, F_GETOWN_EX, &owner) != 0 || owner.pid != gettid());
  }
  return NULL;
}
static void real_time_threads(void) {
  pthread_t thread;
  int refused = 0;
  pthread_create(&thread, NULL, real_time, &refused);
  pthread_join(thread, NULL);
}

// The wait ends only by CPU time.
static void cpu_timer(void) {
  pthread_t thread;
  signal(SIGPROF, set_turn);
  // It stays set after its first signal.
  struct itimerval at = {{0, 300000}, {0, 300000}};
  setitimer(ITIMER_PROF, &at, NULL);
  pthread_create(&thread, NULL, spin, NULL);
  while (!turn)
    MUST(armed() == 0);
  stop = 1;
  pthread_join(thread, NULL);
}

// So by a timer of timer_create.
static void posix_timer(void) {
  pthread_t thread;
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
  struct itimerspec at = {{0, 300000000}, {0, 300000000}};
  signal(SIGPROF, set_turn);
  MUST(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0);
  MUST(timer_settime(timer, 0, &at, NULL) == 0);
  pthread_create(&thread, NULL, spin, NULL);
  while (!turn)
    MUST(armed() == 0);
  stop = 1;
  pthread_join(thread, NULL);
}

// A filter of system calls that is there from the beginning, as in a container.
static void filtered(void) {
  struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog all = {1, &allow};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0) == 0);
  execl(program, program, "spins", NULL);
  MUST(false);
}

// The first signal that the library would take has a meaning already.
static void ignores(void) {
  signal(SIGURG, SIG_IGN);
  execl(program, program, "spins", NULL);
  MUST(false);
}

// A debugger would see each signal.
static void traced(void) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execl(program, program, "spins", NULL);
  }
  int status;
  while (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
    int number = WSTOPSIG(status);
    ptrace(PTRACE_CONT, child, 0, number == SIGTRAP ? 0 : number);
    MUST(number == SIGTRAP);
  }
  MUST(status == 0);
}
static void spins(void) { together(3, 0, 400); }

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
#define CASE(name) {#name, name}
    CASE(actions), CASE(masks), CASE(stacks), CASE(small_stacks), CASE(many),
    CASE(safepoints), CASE(crash), CASE(filter), CASE(forks), CASE(executes),
    CASE(executed), CASE(main_ends), CASE(alone_again), CASE(jumps),
    CASE(handler_ends_wait), CASE(queue), CASE(closes), CASE(unloads),
    CASE(cancels), CASE(calls), CASE(real_time_threads), CASE(cpu_timer), CASE(traced), CASE(spins),
    CASE(posix_timer), CASE(filtered), CASE(ignores)};

int main(int argc, char **argv) {
  program = argv[0];
  for (size_t i = 0; i != sizeof cases / sizeof *cases; ++i)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      return 0;
    }
  return 2;
}
#endif
