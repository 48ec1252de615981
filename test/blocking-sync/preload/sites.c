// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VF_STATS=1 tells what each place of a program that nobody rebuilt waited for. The
// places are the program's, of C11's functions too, which call others of the library.
// Without it nothing is counted, and nothing of what is left to libc.
//
// REQUIRES: preload
// RUN: clang -std=gnu11 -O2 -g -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -lpthread
// RUN: env VF_STATS=1 %vf_preload %t 2> %t.json
// RUN: grep '^{"vfrt"' %t.json > %t.vfrt
// RUN: %python %S/../Inputs/sites.py %t.vfrt > %t.sites
// RUN: FileCheck %s --input-file=%t.sites
// RUN: FileCheck %s --check-prefix=LAST --input-file=%t.sites
// RUN: not grep -v '^sites\.c:' %t.sites
// RUN: %vf_preload %t 2>&1 | count 0
// RUN: env VF_STATS=0 %vf_preload %t 2>&1 | count 0
// RUN: env VF_STATS=1 VF_PTHREAD=off %vf_preload %t 2>&1 | FileCheck --check-prefix=OFF %s
// OFF: "sites": []

#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <threads.h>

/* So that the symbolizer names the line that calls the library. */
#define APART __attribute__((noinline))

/*===- mutexes and conditions -------------------------------------------------===*/

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int go;

static void *wait_for_it(void *arg) {
  (void)arg;
  pthread_mutex_lock(&mutex);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes={{[01]}} waited=long held={{short|long}}
  while (!go)
    pthread_cond_wait(&cond, &mutex);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes={{[01]}} waited=long held={{short|long}}
  pthread_mutex_unlock(&mutex);
  return NULL;
}

APART static void hold_mutex(void) {
  pthread_t id;
  pthread_mutex_lock(&mutex);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=0 spun=0 blocked=0 wakes=1 waited=never held=long
  CHECK(pthread_create(&id, NULL, wait_for_it, NULL) == 0);
  sleep_ms(60);
  pthread_mutex_unlock(&mutex);
  sleep_ms(60);
  go = 1;
  pthread_cond_signal(&cond);
  pthread_join(id, NULL);
}

/*===- C11's ------------------------------------------------------------------===*/

static mtx_t mtx;
static cnd_t cnd;
static struct timespec never;

static void *wait_for_mtx(void *arg) {
  (void)arg;
  CHECK(mtx_lock(&mtx) == thrd_success);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes={{[01]}} waited=long held={{short|long}}
  CHECK(cnd_wait(&cnd, &mtx) == thrd_success);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes={{[01]}} waited=long held={{short|long}}
  CHECK(cnd_timedwait(&cnd, &mtx, &never) == thrd_success);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes={{[01]}} waited=long held={{short|long}}
  mtx_unlock(&mtx);
  return NULL;
}

APART static void hold_mtx(void) {
  pthread_t id;
  mtx_init(&mtx, mtx_timed);
  cnd_init(&cnd);
  CHECK(mtx_trylock(&mtx) == thrd_success);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=0 spun=0 blocked=0 wakes=1 waited=never held=long
  CHECK(pthread_create(&id, NULL, wait_for_mtx, NULL) == 0);
  sleep_ms(60);
  mtx_unlock(&mtx);
  sleep_ms(60);
  cnd_signal(&cnd);
  sleep_ms(60);
  CHECK(mtx_timedlock(&mtx, &never) == thrd_success);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=0 spun=0 blocked=0 wakes={{[01]}} waited=never held={{short|long}}
  mtx_unlock(&mtx);
  cnd_signal(&cnd);
  pthread_join(id, NULL);
}

/*===- semaphores -------------------------------------------------------------===*/

static sem_t sem;

static void *wait_for_a_post(void *arg) {
  (void)arg;
  CHECK(sem_wait(&sem) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes=0 waited=long held=never
  CHECK(sem_timedwait(&sem, &never) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes=0 waited=long held=never
  CHECK(sem_clockwait(&sem, CLOCK_REALTIME, &never) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes=0 waited=long held=never
  return NULL;
}

APART static void post_late(void) {
  pthread_t id;
  struct timespec past = {1, 0};
  CHECK(sem_init(&sem, 0, 1) == 0);
  CHECK(sem_wait(&sem) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=0 spun=0 blocked=0 wakes=0 waited=never held=never
  CHECK(sem_timedwait(&sem, &past) != 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=0 contended=1 spun=0 blocked=1 wakes=0 waited={{short|long}} held=never
  CHECK(pthread_create(&id, NULL, wait_for_a_post, NULL) == 0);
  for (int i = 0; i < 3; ++i) {
    sleep_ms(60);
    sem_post(&sem);
  }
  pthread_join(id, NULL);
}

/*===- read-write locks -------------------------------------------------------===*/

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t prefers_writers =
    PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void *read_late(void *arg) {
  (void)arg;
  CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes=0 waited=long held=never
  pthread_rwlock_unlock(&rwlock);
  // Libc's alone, with no spin before it.
  CHECK(pthread_rwlock_timedwrlock(&prefers_writers, &never) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes=0 waited=long held=never
  pthread_rwlock_unlock(&prefers_writers);
  return NULL;
}

static void *write_late(void *arg) {
  (void)arg;
  CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes=0 waited=long held=never
  pthread_rwlock_unlock(&rwlock);
  CHECK(pthread_rwlock_clockrdlock(&prefers_writers, CLOCK_REALTIME, &never) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes=0 waited=long held=never
  pthread_rwlock_unlock(&prefers_writers);
  return NULL;
}

APART static void hold_rwlocks(void) {
  pthread_t reader, writer;
  CHECK(pthread_rwlock_clockwrlock(&rwlock, CLOCK_REALTIME, &never) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=0 spun=0 blocked=0 wakes=0 waited=never held=never
  CHECK(pthread_rwlock_wrlock(&prefers_writers) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=0 spun=0 blocked=0 wakes=0 waited=never held=never
  CHECK(pthread_create(&reader, NULL, read_late, NULL) == 0);
  CHECK(pthread_create(&writer, NULL, write_late, NULL) == 0);
  sleep_ms(60);
  pthread_rwlock_unlock(&rwlock);
  sleep_ms(60);
  pthread_rwlock_unlock(&prefers_writers);
  pthread_join(reader, NULL);
  pthread_join(writer, NULL);
  CHECK(pthread_rwlock_timedrdlock(&rwlock, &never) == 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=0 spun=0 blocked=0 wakes=0 waited=never held=never
  pthread_rwlock_unlock(&rwlock);
}

/*===- barriers ---------------------------------------------------------------===*/

static pthread_barrier_t barrier;

static void *arrive_early(void *arg) {
  (void)arg;
  CHECK(pthread_barrier_wait(&barrier) <= 0);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=0 contended=1 spun=0 blocked=1 wakes=0 waited=long held=never
  return NULL;
}

APART static void arrive_late(void) {
  pthread_t id;
  pthread_barrier_init(&barrier, NULL, 2);
  CHECK(pthread_create(&id, NULL, arrive_early, NULL) == 0);
  sleep_ms(60);
  pthread_barrier_wait(&barrier); // Ends the round: no wait, so no site.
  // LAST-NOT: sites.c:[[@LINE-1]]
  pthread_join(id, NULL);
}

/*===--------------------------------------------------------------------------===*/

/* The library's table of sites is as it was loaded. */
static bool nothing_is_counted(void) {
  void *sites = dlsym(RTLD_DEFAULT, "vf_sites_1");
  const ElfW(Sym) *symbol;
  Dl_info info;
  CHECK(sites && dladdr1(sites, &info, (void **)&symbol, RTLD_DL_SYMENT));
  CHECK(symbol->st_size > 4096);
  for (size_t i = 0; i < symbol->st_size; ++i)
    if (((const char *)sites)[i] != 0)
      return false;
  return true;
}

int main(void) {
  clock_gettime(CLOCK_REALTIME, &never);
  never.tv_sec += 3600;
  hold_mutex();
  hold_mtx();
  post_late();
  hold_rwlocks();
  arrive_late();
  const char *stats = getenv("VF_STATS"), *mode = getenv("VF_PTHREAD");
  bool is_on = stats && strcmp(stats, "1") == 0 && !mode;
  CHECK(nothing_is_counted() == !is_on);
  return 0;
}
