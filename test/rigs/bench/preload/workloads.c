/*===- workloads.c - Programs that wait in libc's ways --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * workloads WHAT THREADS ROUNDS: each thread does ROUNDS of WHAT; prints what
 * all took as a line of JSON. Knows nothing of the preload.
 *===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_THREADS 1024

static int threads;
static long rounds;
static pthread_barrier_t start;

static void work(int n) {
  for (volatile int i = 0; i < n; ++i)
    ;
}

static void check(int result) {
  if (result != 0)
    abort();
}

/*===- mutex, rwlock: some 100 ns in, some 500 out ------------------------===*/

#define IN 50
#define OUT 250

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long visits;

static void use_mutex(int self) {
  (void)self;
  for (long i = 0; i < rounds; ++i) {
    check(pthread_mutex_lock(&mutex));
    ++visits;
    work(IN);
    check(pthread_mutex_unlock(&mutex));
    work(OUT);
  }
}

/* A round is 1000 times a lock that no other thread uses. */
static void use_own(int self) {
  static struct {
    _Alignas(128) pthread_mutex_t mutex;
  } own[MAX_THREADS];
  pthread_mutex_t *mine =
      &own[self].mutex; /* zero: PTHREAD_MUTEX_INITIALIZER */
  for (long i = 0; i < 1000 * rounds; ++i) {
    check(pthread_mutex_lock(mine));
    check(pthread_mutex_unlock(mine));
  }
}

/* One in ten writes. */
static void use_rwlock(int self) {
  for (long i = 0; i < rounds; ++i) {
    if ((i + self) % 10 == 0) {
      check(pthread_rwlock_wrlock(&rwlock));
      ++visits;
    } else {
      check(pthread_rwlock_rdlock(&rwlock));
    }
    work(IN);
    check(pthread_rwlock_unlock(&rwlock));
    work(OUT);
  }
}

/*===- cond, sem: pairs that take turns -----------------------------------===*/

static struct pair {
  pthread_mutex_t mutex;
  pthread_cond_t turned[2];
  sem_t yours[2];
  int turn;
} __attribute__((aligned(128))) pairs[MAX_THREADS / 2];

static void use_cond(int self) {
  struct pair *pair = &pairs[self / 2];
  int me = self % 2;
  for (long i = 0; i < rounds; ++i) {
    check(pthread_mutex_lock(&pair->mutex));
    while (pair->turn != me)
      check(pthread_cond_wait(&pair->turned[me], &pair->mutex));
    pair->turn = !me;
    check(pthread_cond_signal(&pair->turned[!me]));
    check(pthread_mutex_unlock(&pair->mutex));
  }
}

static void use_sem(int self) {
  struct pair *pair = &pairs[self / 2];
  int me = self % 2;
  for (long i = 0; i < rounds; ++i) {
    while (sem_wait(&pair->yours[me]) != 0)
      ;
    check(sem_post(&pair->yours[!me]));
  }
}

/*===- broadcast, barrier: all wait for the last --------------------------===*/

static pthread_cond_t all_there = PTHREAD_COND_INITIALIZER;
static int there;
static long gate;
static pthread_barrier_t barrier;

static void use_broadcast(int self) {
  (void)self;
  for (long i = 0; i < rounds; ++i) {
    work(OUT);
    check(pthread_mutex_lock(&mutex));
    long mine = gate;
    if (++there == threads) {
      there = 0;
      ++gate;
      check(pthread_cond_broadcast(&all_there));
    }
    while (gate == mine)
      check(pthread_cond_wait(&all_there, &mutex));
    check(pthread_mutex_unlock(&mutex));
  }
}

static void use_barrier(int self) {
  (void)self;
  for (long i = 0; i < rounds; ++i) {
    work(OUT);
    pthread_barrier_wait(&barrier);
  }
}

/*===----------------------------------------------------------------------===*/

static void (*use)(int self);

static void *run(void *arg) {
  pthread_barrier_wait(&start);
  use((int)(long)arg);
  return NULL;
}

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long cpu_ns(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL +
         (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*use)(int self);
  } all[] = {{"own", use_own},
             {"mutex", use_mutex},
             {"rwlock", use_rwlock},
             {"cond", use_cond},
             {"broadcast", use_broadcast},
             {"sem", use_sem},
             {"barrier", use_barrier}};
  static pthread_t ids[MAX_THREADS];
  if (argc != 4)
    return 2;
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (strcmp(argv[1], all[i].name) == 0)
      use = all[i].use;
  threads = atoi(argv[2]);
  rounds = atol(argv[3]);
  if (!use || threads < 2 || threads > MAX_THREADS || threads % 2 || rounds < 1)
    return 2;
  for (int i = 0; i < threads / 2; ++i) {
    pthread_mutex_init(&pairs[i].mutex, NULL);
    for (int side = 0; side < 2; ++side) {
      pthread_cond_init(&pairs[i].turned[side], NULL);
      sem_init(&pairs[i].yours[side], 0, side == 0);
    }
  }
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
  for (long i = 0; i < threads; ++i)
    check(pthread_create(&ids[i], NULL, run, (void *)i));
  long long cpu = cpu_ns();
  pthread_barrier_wait(&start);
  long long began = now_ns();
  for (int i = 0; i < threads; ++i)
    check(pthread_join(ids[i], NULL));
  printf("{\"ns\": %lld, \"cpu_ns\": %lld, \"rounds\": %ld, \"visits\": %ld}\n",
         now_ns() - began, cpu_ns() - cpu, rounds, visits);
  return 0;
}
