// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pools of several threads for each CPU: reported if these compute.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-thread-per-task' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <pthread.h>
#include <semaphore.h>
#include <sys/sysinfo.h>

enum { MOST = 1024 };
static pthread_t threads[MOST];
static long part[MOST], total;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_barrier_t barrier;
static sem_t semaphore;
static volatile int start, taken;

static long work(long from) {
  long sum = 0;
  for (long i = from; i < 1000000; i += MOST)
    sum += i % 7;
  return sum;
}
static void *compute(void *number) {
  part[(long)number] = work((long)number);
  return 0;
}
// A lock after the loop, for the sum of all.
static void *add(void *number) {
  long sum = 0;
  for (long i = (long)number; i < 1000000; i += MOST)
    sum += i % 7;
  pthread_mutex_lock(&mutex);
  total += sum;
  pthread_mutex_unlock(&mutex);
  return 0;
}
void computing(void) {
  for (long i = 0; i < 2 * get_nprocs(); i++)
    // CHECK: :[[@LINE+1]]:5: warning: loop creates 2 threads for each CPU, and these compute: {{.*}} [vfriendly-blocking-sync-thread-per-task]
    pthread_create(&threads[i], 0, compute, (void *)i);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_join(threads[i], 0);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    // CHECK: :[[@LINE+1]]:5: warning: loop creates 2 threads for each CPU, and these compute
    pthread_create(&threads[i], 0, add, (void *)i);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_join(threads[i], 0);
}

// Not reported: what these threads are for is that they wait for each other.
static void *lockEach(void *unused) {
  for (int i = 0; i < 1000; i++) {
    pthread_mutex_lock(&mutex);
    total++;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}
static void *lockAll(void *unused) {
  pthread_mutex_lock(&mutex);
  total += work(0);
  pthread_mutex_unlock(&mutex);
  return unused;
}
static void *lockSpinning(void *unused) {
  for (int i = 0; i < 1000; i++) {
    pthread_spin_lock(&spinlock);
    total++;
    pthread_spin_unlock(&spinlock);
  }
  return unused;
}
static void take(void) {
  while (__sync_lock_test_and_set(&taken, 1))
    work(0);
}
static void *lockByHand(void *unused) {
  take();
  total++;
  __sync_lock_release(&taken);
  return unused;
}
static void *meet(void *unused) {
  for (int i = 0; i < 1000; i++)
    pthread_barrier_wait(&barrier);
  return unused;
}
static void *waitForTurn(void *unused) {
  sem_wait(&semaphore);
  total += work(0);
  sem_post(&semaphore);
  return unused;
}
static void *beginTogether(void *number) {
  while (!start)
    ;
  return compute(number);
}
void waiting(void) {
  void *(*const all[])(void *) = {lockEach};
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_create(&threads[i], 0, all[0], 0);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_create(&threads[i], 0, lockEach, 0);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_create(&threads[i], 0, lockAll, 0);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_create(&threads[i], 0, lockSpinning, 0);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_create(&threads[i], 0, lockByHand, 0);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_create(&threads[i], 0, meet, 0);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_create(&threads[i], 0, waitForTurn, 0);
  for (long i = 0; i < 2 * get_nprocs(); i++)
    pthread_create(&threads[i], 0, beginTogether, (void *)i);
}
