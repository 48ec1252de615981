// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// guest: does what a library in a program could disturb, and prints {} if
// nothing was: system calls that end early, masks, handlers, children, stacks.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define CHECK(true_) ((true_) ? (void)0 : fail(#true_, __LINE__))

static void fail(const char *what, int line) {
  fprintf(stderr, "guest.c:%d: %s, errno %d\n", line, what, errno);
  _exit(1);
}

static double cpu_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

// 20 ms are five periods of the timer.
static void compute(double seconds) {
  for (double end = cpu_time() + seconds; cpu_time() < end;)
    ;
}

static void start(pthread_t *thread, void *(*function)(void *), void *with) {
  CHECK(!pthread_create(thread, NULL, function, with));
}

// Calls that a signal's handler would end, after time in the kernel so that
// most periods of the timer end there.
static void *calls(void *unused) {
  char bytes[16384];
  sem_t none;
  sem_init(&none, 0, 0);
  int set = epoll_create1(0), pipes[2];
  CHECK(set >= 0 && !pipe(pipes));
  struct timespec shortly = {0, 20000};
  for (double end = cpu_time() + 0.4; cpu_time() < end;) {
    CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
    CHECK(!nanosleep(&shortly, NULL));
    struct pollfd one = {.fd = pipes[0], .events = POLLIN};
    CHECK(!ppoll(&one, 1, &shortly, NULL));
    struct epoll_event event;
    CHECK(!epoll_wait(set, &event, 1, 1));
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000;
    if (until.tv_nsec < 1000000000)
      CHECK(sem_timedwait(&none, &until) && errno == ETIMEDOUT);
  }
  close(set), close(pipes[0]), close(pipes[1]);
  return unused;
}

// A thread that handles signals by waiting for them sees none of the timer's.
static void *waits_for_all(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  int file = signalfd(-1, &all, SFD_NONBLOCK);
  for (int i = 0; i < 10; i++) {
    compute(0.02);
    struct timespec shortly = {0, 1000000};
    CHECK(sigtimedwait(&all, NULL, &shortly) == -1 && errno == EAGAIN);
    struct signalfd_siginfo info;
    CHECK(read(file, &info, sizeof info) == -1 && errno == EAGAIN);
  }
  close(file);
  // Its own signals are seen, whichever the library uses.
  for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, n);
    pthread_kill(pthread_self(), n);
    struct timespec long_ = {5, 0};
    CHECK(sigtimedwait(&one, NULL, &long_) == n);
  }
  return unused;
}

static volatile sig_atomic_t handled[128];

static void handler(int n) { handled[n]++; }

static void own_handlers(void) {
  for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
    struct sigaction mine = {.sa_handler = handler}, found;
    CHECK(!sigaction(n, &mine, NULL));
    CHECK(!sigaction(n, NULL, &found) && found.sa_handler == handler);
  }
  compute(0.05);
  for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
    raise(n);
    CHECK(handled[n] == 1);
    CHECK(signal(n, SIG_IGN) == handler);
    raise(n);
    CHECK(handled[n] == 1 && signal(n, SIG_DFL) == SIG_IGN);
  }
  // Without a handler, each of them ends the process.
  for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
    pid_t child = fork();
    if (!child) {
      raise(n);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
          WTERMSIG(status) == n);
  }
}

static void *forks(void *program) {
  for (int i = 0; i < 8; i++) {
    pid_t child = fork();
    if (!child) {
      compute(0.02);
      // The period that ends in exec must not end the new program.
      execl(program, program, i % 2 ? "child" : "again", NULL);
      _exit(3);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    compute(0.01);
  }
  return NULL;
}

static void *nothing(void *with) {
  compute(0.0001);
  return with;
}

static int timers(void) {
  FILE *file = fopen("/proc/self/timers", "r");
  if (!file)
    return 0;
  char line[256];
  int count = 0;
  while (fgets(line, sizeof line, file))
    count += !strncmp(line, "ID:", 3);
  fclose(file);
  return count;
}

static void *leaves(void *unused) { pthread_exit(unused); }

static ucontext_t back, inside;

static void coroutine(void) { compute(0.1); }

static void *small(void *unused) {
  compute(0.05);
  return unused;
}

int main(int argc, char **argv) {
  compute(0.02);
  if (argc > 1 && !strcmp(argv[1], "again"))
    execl(argv[0], argv[0], "child", NULL);
  if (argc > 1)
    return 0;
  int before = timers();
  pthread_t threads[4], one;
  for (int i = 0; i < 2; i++)
    start(&threads[i], calls, NULL);
  start(&threads[2], waits_for_all, NULL);
  start(&threads[3], forks, argv[0]);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  own_handlers();
  // More threads than timers may be pending, so each must be given back.
  for (int i = 0; i < 2000; i++) {
    start(&one, i % 2 ? nothing : leaves, NULL);
    pthread_join(one, NULL);
  }
  CHECK(timers() == before);
  errno = 77;
  compute(0.05);
  CHECK(errno == 77);
  // Stacks that are not the thread's, and one that ends where the page does.
  static char room[64 << 10] __attribute__((aligned(4096)));
  getcontext(&inside);
  inside.uc_stack.ss_sp = room, inside.uc_stack.ss_size = sizeof room;
  inside.uc_link = &back;
  makecontext(&inside, coroutine, 0);
  swapcontext(&back, &inside);
  pthread_attr_t tiny;
  pthread_attr_init(&tiny);
  pthread_attr_setstacksize(&tiny, 16384);
  CHECK(!pthread_create(&one, &tiny, small, NULL));
  pthread_join(one, NULL);
  // A daemon closes all files, also those that it has not opened.
  closefrom(3);
  compute(0.05);
  printf("{}\n");
  return 0;
}
