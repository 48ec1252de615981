// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that gets no more threads, and one that gets them: what is free goes back
// without a helper or with one, which takes no signal from the program's own threads; and
// where a thread cannot be started, that is not tried again and again. Each looks at
// vf_malloc_stats.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -DNO_THREADS -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: %vf_malloc %t
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: %vf_malloc %t

#include "check.h"
#include "vfriendly/malloc.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#ifdef NO_THREADS
static int attempts;
/* In place of libc's, for the library as well. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *id,
                                                          const pthread_attr_t *attributes,
                                                          void *(*run)(void *), void *argument) {
  (void)id, (void)attributes, (void)run, (void)argument;
  ++attempts;
  return EAGAIN;
}
#endif

static struct vf_malloc_stats stats(void) {
  struct vf_malloc_stats s;
  vf_malloc_stats(&s, sizeof s);
  return s;
}

/* A program of an older version has less room. */
static void fills_no_more_than_there_is(void) {
  struct vf_malloc_stats s;
  memset(&s, 0xee, sizeof s);
  void *block = malloc(100000);
  vf_malloc_stats(&s, sizeof s.used);
  CHECK(s.used != 0 && *(unsigned char *)&s.resident_free == 0xee);
  free(block);
}

static void peak(void) {
  enum { BLOCKS = 100, SIZE = 1000000 };
  char *b[BLOCKS];
  for (int i = 0; i != BLOCKS; ++i)
    b[i] = memset(malloc(SIZE), 1, SIZE);
  for (int i = 0; i != BLOCKS; ++i)
    free(b[i]);
}

/* Another thread, in which a helper is allowed, and which takes no signal. */
#ifdef NO_THREADS
static int rests(void *unused) {
  (void)unused;
  for (;;)
    pause();
}

static void begin_another(void) {
  enum { STACK = 65536, SAME = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD };
  char *stack = malloc(STACK);
  CHECK(stack && clone(rests, stack + STACK, SAME, NULL) > 0);
  __libc_single_threaded = 0; /* As if libc had started it. */
}
#else
static void *rests(void *unused) {
  for (;;)
    pause();
  return unused;
}

static void begin_another(void) {
  pthread_t id;
  CHECK(pthread_create(&id, NULL, rests, NULL) == 0);
}
#endif

static void be_two(void) {
  sigset_t all, before;
  sigfillset(&all);
  CHECK(sigprocmask(SIG_SETMASK, &all, &before) == 0);
  begin_another();
  CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
}

static volatile pid_t handled_by;
static void on_signal(int number) {
  (void)number;
  handled_by = gettid();
}

int main(void) {
  signal(SIGUSR1, on_signal);
  alarm(100);
  fills_no_more_than_there_is();
  be_two();
  for (int i = 0; i != 3; ++i) {
    uint64_t returned = stats().returned;
    peak();
    /* A peak soon after another: the next look comes with time, and with a free. */
    while (stats().returned == returned) {
      sleep_ms(1);
      free(memset(malloc(300000), 1, 300000));
    }
  }
#ifdef NO_THREADS
  CHECK(attempts == 1);
#endif
  /* The main thread does not take it now: nobody else may. */
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  CHECK(sigprocmask(SIG_BLOCK, &one, NULL) == 0);
  kill(getpid(), SIGUSR1);
  sleep_ms(100);
  CHECK(handled_by == 0);
  CHECK(sigprocmask(SIG_UNBLOCK, &one, NULL) == 0);
  CHECK(handled_by == getpid());
  return 0;
}
