// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fork at each step of the allocator's start and end leaves a child that can allocate. The
// steps are the calls of libc that jemalloc's start and a thread's first allocation make: the
// thread itself forks in each, as its signal handler would, and in turn another thread does.
// jemalloc has started before a second thread runs.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -fno-builtin -Wall -Wextra -pthread -rdynamic -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: %vf_malloc %t starts
// RUN: %vf_malloc %t itself
// RUN: %vf_malloc %t other
// RUN: %vf_malloc %t race %if full %{ 300 %} %else %{ 40 %}
// RUN: %vf_malloc %t ends

#include "check.h"
#include "vfriendly/malloc.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 50000, STEPS_MAX = 40, SECONDS = 20, SHORT_MS = 30 };

static void use_memory(void) {
  alarm(SECONDS); /* A lock that nobody holds hangs. */
  char *volatile p = malloc(LARGE);
  CHECK(p);
  memset(p, 1, LARGE);
  free(p);
}

static void fork_and_use(void) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    use_memory();
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* The step at which to call at_step, counted in this thread. */
static __thread int steps_left;
static void (*at_step)(void);

static void step(void) {
  if (steps_left != 0 && --steps_left == 0)
    at_step();
}

/* What libc defines, and the allocator calls. */
void *mmap(void *at, size_t size, int access, int flags, int file, off_t offset) {
  step();
  return (void *)syscall(SYS_mmap, at, size, access, flags, file, offset);
}
int munmap(void *at, size_t size) {
  step();
  return (int)syscall(SYS_munmap, at, size);
}
int madvise(void *at, size_t size, int advice) {
  step();
  return (int)syscall(SYS_madvise, at, size, advice);
}
int getrlimit(__rlimit_resource_t what, struct rlimit *limit) {
  step();
  return (int)syscall(SYS_prlimit64, 0, what, NULL, limit);
}
int sched_getaffinity(pid_t task, size_t size, cpu_set_t *set) {
  step();
  long n = syscall(SYS_sched_getaffinity, task, size, set);
  if (n >= 0)
    memset((char *)set + n, 0, size - (size_t)n);
  return n < 0 ? -1 : 0;
}

/* Runs `what` in a new process for each step, until there is no such step. */
static void at_each_step(void (*what)(int)) {
  int n = 0;
  for (int status = 0; status == 0; ++n) {
    CHECK(n != STEPS_MAX);
    pid_t child = fork();
    if (child == 0) {
      alarm(SECONDS);
      what(n + 1);
      _exit(steps_left == 0 ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    if (status != 0)
      CHECK(n >= 2); /* Some pages at least are mapped. */
  }
}

static pid_t forked;

/* The child goes on with the start, too. */
static void fork_here(void) { forked = fork(); }

static void itself(int n) {
  at_step = fork_here;
  steps_left = n;
  forked = -1;
  use_memory();
  use_memory();
  if (forked == 0)
    _exit(0);
  int status;
  if (forked > 0)
    CHECK(waitpid(forked, &status, 0) == forked && status == 0);
}

static sem_t go, done;

/* Waits for the fork of the other thread, but not for one that waits for this thread. */
static void let_other_fork(void) {
  sem_post(&go);
  for (int ms = 0; ms != SHORT_MS && sem_trywait(&done) != 0; ++ms)
    sleep_ms(1);
}

static void *allocates(void *n) {
  steps_left = *(int *)n;
  use_memory();
  *(int *)n = steps_left;
  sem_post(&go);
  return NULL;
}

static void other(int n) {
  pthread_t thread;
  sem_init(&go, 0, 0);
  sem_init(&done, 0, 0);
  at_step = let_other_fork;
  CHECK(pthread_create(&thread, NULL, allocates, &n) == 0);
  sem_wait(&go);
  fork_and_use();
  sem_post(&done);
  CHECK(pthread_join(thread, NULL) == 0);
  steps_left = n;
}

static void *has_started(void *unused) {
  struct vf_malloc_stats stats;
  vf_malloc_stats(&stats, sizeof stats);
  CHECK(stats.mapped != 0);
  return unused;
}

/* Two threads make their first large block while a third forks a bit earlier or later. */
static pthread_barrier_t together;

static void *at_once(void *unused) {
  pthread_barrier_wait(&together);
  use_memory();
  return unused;
}

static void race(int delay) {
  pthread_t threads[2];
  pthread_barrier_init(&together, NULL, 3);
  for (int i = 0; i != 2; ++i)
    CHECK(pthread_create(&threads[i], NULL, at_once, NULL) == 0);
  pthread_barrier_wait(&together);
  for (volatile int i = 0; i < delay; ++i)
    ;
  fork_and_use();
  for (int i = 0; i != 2; ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
}

/* A thread's last calls, and those of the process, with a thread that allocates meanwhile. */
static pthread_key_t key;
static int stop;

static void *churns(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
    free(malloc(300000));
  return unused;
}

static void at_end_of_thread(void *block) {
  free(block);
  fork_and_use();
}

static void *ends_thread(void *unused) {
  CHECK(pthread_setspecific(key, malloc(LARGE)) == 0);
  return unused;
}

static void ends(void) {
  pthread_t churning, ending;
  alarm(SECONDS);
  CHECK(pthread_key_create(&key, at_end_of_thread) == 0);
  CHECK(atexit(fork_and_use) == 0);
  CHECK(pthread_create(&churning, NULL, churns, NULL) == 0);
  for (int i = 0; i != 20; ++i) {
    CHECK(pthread_create(&ending, NULL, ends_thread, NULL) == 0);
    CHECK(pthread_join(ending, NULL) == 0);
  }
  exit(0);
}

/* After the handlers of atexit, while the thread still allocates. */
__attribute__((destructor)) static void at_end(void) {
  if (key)
    fork_and_use();
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  const char *what = argv[1];
  pthread_t thread;
  if (strcmp(what, "starts") == 0) {
    CHECK(pthread_create(&thread, NULL, has_started, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  if (strcmp(what, "itself") == 0)
    at_each_step(itself);
  if (strcmp(what, "other") == 0)
    at_each_step(other);
  for (int i = 0; argc > 2 && i != atoi(argv[2]); ++i) {
    pid_t child = fork(); /* Each starts anew. */
    if (child == 0) {
      race(i % 40 * 700);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  if (strcmp(what, "ends") == 0)
    ends();
  return 0;
}
