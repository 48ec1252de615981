// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// waited: the first thread waits 20 times for another one, which works, and
// prints for how long.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

static sem_t done;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *work(void *none) {
  pthread_setname_np(pthread_self(), "slow");
  for (int i = 0; i < 20; i++) {
    double end = now() + 0.02;
    while (now() < end)
      ;
    sem_post(&done);
  }
  return none;
}

int main(void) {
  sem_init(&done, 0, 0);
  pthread_t slow;
  pthread_create(&slow, NULL, work, NULL);
  double waited = 0;
  for (int i = 0; i < 20; i++) {
    double begin = now();
    sem_wait(&done);
    waited += now() - begin;
  }
  pthread_join(slow, NULL);
  printf("{\"waited\": %f}\n", waited);
}
