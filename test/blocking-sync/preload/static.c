// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A static program opens the libraries by dlopen, and its threads use what they
// define: those that run before as well as later ones. libvfmalloc.so refuses.
//
// REQUIRES: preload, native, heap-churn-malloc
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -static -Wno-unused-command-line-argument -I %S/../../Inputs -I %vf_include %s -o %t 2> %t.warnings
// RUN: %t %vf_lib/libvfpthread.so
// RUN: env VF_STATS=1 %t %vf_lib/libvfpthread.so
// RUN: env VF_NUMA=interleave VF_NUMA_PIN=core %t %vf_lib/libvfnuma.so
// RUN: %t %vf_lib/libvfomp.so
// RUN: not %t %vf_lib/libvfmalloc.so 2>&1 | FileCheck %s
// CHECK: cannot allocate memory in static TLS block

#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static long visits, ready;
static __typeof__(pthread_mutex_lock) *lock, *unlock;
static __typeof__(pthread_cond_wait) *wait;
static __typeof__(pthread_cond_broadcast) *broadcast;
static __typeof__(pthread_barrier_wait) *meet;

static void *visit(void *arg) {
  while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
    ;
  for (int i = 0; i < 5000; ++i) {
    lock(&mutex);
    ++visits;
    if (i % 100 == 0)
      broadcast(&cond);
    unlock(&mutex);
  }
  lock(&mutex);
  while (visits < 20000)
    wait(&cond, &mutex);
  broadcast(&cond);
  unlock(&mutex);
  meet(&barrier);
  return arg;
}

int main(int argc, char **argv) {
  pthread_t threads[4];
  CHECK(argc == 2 && pthread_barrier_init(&barrier, NULL, 4) == 0);
  for (int i = 0; i < 2; ++i)
    CHECK(pthread_create(&threads[i], NULL, visit, NULL) == 0);
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) {
    puts(dlerror());
    return 1;
  }
  lock = dlsym(library, "pthread_mutex_lock");
  unlock = dlsym(library, "pthread_mutex_unlock");
  wait = dlsym(library, "pthread_cond_wait");
  broadcast = dlsym(library, "pthread_cond_broadcast");
  meet = dlsym(library, "pthread_barrier_wait");
  CHECK(lock && unlock && wait && broadcast && meet);
  __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
  for (int i = 2; i < 4; ++i)
    CHECK(pthread_create(&threads[i], NULL, visit, NULL) == 0);
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  CHECK(visits == 20000);
  return 0;
}
