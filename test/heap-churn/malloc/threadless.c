// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that gets no more threads: what is free goes back without a helper. And one
// that gets them: the helper takes no signal from the program's own threads. Each looks at vf_malloc_stats.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -DNO_THREADS -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: %vf_malloc %t
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: %vf_malloc %t

#include "check.h"
#include "vfriendly/malloc.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef NO_THREADS
/* In place of libc's, for the library as well. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *id,
                                                          const pthread_attr_t *attributes,
                                                          void *(*run)(void *), void *argument) {
  (void)id, (void)attributes, (void)run, (void)argument;
  return EAGAIN;
}
static const bool has_threads = false;
#else
static const bool has_threads = true;
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

static volatile pid_t handled_by;
static void on_signal(int number) {
  (void)number;
  handled_by = gettid();
}

int main(void) {
  signal(SIGUSR1, on_signal);
  alarm(100);
  fills_no_more_than_there_is();
  for (int i = 0; i != 3; ++i) {
    uint64_t returned = stats().returned;
    peak();
    while (has_threads && stats().returned == returned)
      sleep_ms(1);
    CHECK(stats().returned > returned);
    CHECK(has_threads || stats().resident_free < 20000000);
  }
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
