/*===- harness.h - Payloads that must have arrived when a wait ends --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What the execution tests share. A test defines one kind of wait and includes
 * this last, with one of
 *
 *   KIND_FLAG     void await(int round); void raise_flag(int round);
 *   KIND_LOCK     void lock(int self); void unlock(int self);
 *   KIND_BARRIER  void barrier(int self);   for `threads` threads
 *
 * defined, `static int threads;` and PAYLOAD as `volatile` where the wait orders volatile accesses only. All
 * but the kind under test is done by pthread and semaphores, which are not
 * rewritten. A payload that has not arrived ends the program with status 1; a
 * wait that never ends is found by the driver's timeout.
 *===----------------------------------------------------------------------===*/

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef PAYLOAD
#define PAYLOAD
#endif

enum { Rounds = 200, MaxThreads = 8 };

static PAYLOAD int payload[16];
static pthread_barrier_t round_end;

static void fail(const char *what, int self, int round, int seen) {
  fprintf(stderr, "thread %d, round %d: %s: %d\n", self, round, what, seen);
  _exit(1);
}

#ifdef KIND_FLAG

static sem_t seen;

static void *thread(void *arg) {
  int self = (int)(intptr_t)arg;
  for (int round = 1; round <= Rounds; ++round) {
    if (self == 0) {
      for (int i = 0; i < 16; ++i)
        payload[i] = round + i;
      if (round % 50 == 0) /* Long enough for the others to block. */
        usleep(3000);
      raise_flag(round);
      for (int i = 1; i < threads; ++i)
        sem_wait(&seen);
    } else {
      await(round);
      for (int i = 0; i < 16; ++i)
        if (payload[i] != round + i)
          fail("the payload has not arrived", self, round, payload[i]);
      sem_post(&seen);
    }
    /* Nobody may be a round ahead of another. */
    pthread_barrier_wait(&round_end);
  }
  return NULL;
}

#elif defined(KIND_LOCK)

static void *thread(void *arg) {
  int self = (int)(intptr_t)arg;
  pthread_barrier_wait(&round_end); /* All at once. */
  for (int round = 1; round <= Rounds; ++round) {
    lock(self);
    int before = payload[0];
    for (int i = 0; i < 16; ++i) {
      if (payload[i] != before)
        fail("the lock excludes nobody", self, round, payload[i]);
      payload[i] = before + 1;
      /* Half way: whoever gets in now sees it. */
      if (i == 8 && round % 8 == 0)
        sched_yield();
      if (i == 8 && round % 100 == 0)
        usleep(1000);
    }
    unlock(self);
  }
  return NULL;
}

#else

static void *thread(void *arg) {
  int self = (int)(intptr_t)arg;
  for (int round = 1; round <= Rounds; ++round) {
    payload[self] = round;
    if (round % 50 == 0 && self == round % threads)
      usleep(3000);
    barrier(self);
    for (int i = 0; i < threads; ++i)
      if (payload[i] != round)
        fail("not all have come", self, round, payload[i]);
    barrier(self);
  }
  return NULL;
}

#endif

int main(int argc, char **argv) {
  threads = argc > 1 ? atoi(argv[1]) : 2;
#ifdef KIND_FLAG
  sem_init(&seen, 0, 0);
#endif
  pthread_barrier_init(&round_end, NULL, threads);
  pthread_t ids[MaxThreads];
  for (int i = 0; i < threads; ++i)
    pthread_create(&ids[i], NULL, thread, (void *)(intptr_t)i);
  for (int i = 0; i < threads; ++i)
    pthread_join(ids[i], NULL);
#ifdef KIND_LOCK
  if (payload[0] != threads * Rounds)
    fail("updates were lost", -1, Rounds, payload[0]);
#endif
  return 0;
}
