// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// crowd THREADS NAME [S]: so many threads of that name compute until they have
// had 0.4 s of CPU time together, or S.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static atomic_ulong used_us;
static unsigned long most_us = 400000;

static void *compute(void *name) {
  pthread_setname_np(pthread_self(), name);
  volatile unsigned long sum = 0;
  struct timespec before, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  while (atomic_load(&used_us) < most_us) {
    for (int i = 0; i < 100000; i++)
      sum += i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    atomic_fetch_add(&used_us, (now.tv_sec - before.tv_sec) * 1000000 +
                                   (now.tv_nsec - before.tv_nsec) / 1000);
    before = now;
  }
  return NULL;
}

int main(int argc, char **argv) {
  int n = argc >= 3 ? atoi(argv[1]) : 1;
  if (argc > 3)
    most_us = strtoul(argv[3], NULL, 10) * 1000000;
  pthread_t threads[64];
  for (int i = 0; i < n; i++)
    pthread_create(&threads[i], NULL, compute, argv[2]);
  for (int i = 0; i < n; i++)
    pthread_join(threads[i], NULL);
}
