// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// locks: two threads take one lock in turn at a known line, and each but the
// first waits for it, whatever the scheduler does. Prints how many waits there
// were, the least that each of them took, and what all of them took.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TAKES 500
#define HELD_US 200

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int taken;
static double waited_s;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

// The word of a held lock without and with a thread that sleeps until it is
// free, of libc and of libvfpthread (preload/mutex.c).
enum { HELD = 1, SLEEPERS };

static int *word(void) { return &lock.__data.__lock; }

__attribute__((noinline)) static void take(void) {
  double began = now();
  pthread_mutex_lock(&lock); // HERE lock
  waited_s += now() - began;
  // A thread that was woken leaves SLEEPERS, as there might be others. Here the
  // other one comes only after taken++.
  __atomic_store_n(word(), HELD, __ATOMIC_RELAXED);
  taken++;
  while (taken < 2 * TAKES &&
         __atomic_load_n(word(), __ATOMIC_RELAXED) != SLEEPERS)
    usleep(20);
  usleep(HELD_US);
  pthread_mutex_unlock(&lock);
}

static void *player(void *which) {
  for (int i = 0; i < TAKES; i++) {
    while (taken < 2 * i + (int)(long)which)
      usleep(20);
    take();
  }
  return which;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, player, (void *)1L);
  player(NULL);
  pthread_join(thread, NULL);
  printf("{\"waits\": %d, \"least\": %f, \"waited\": %f}\n", 2 * TAKES - 1,
         (2 * TAKES - 1) * HELD_US * 1e-6, waited_s);
  return 0;
}
