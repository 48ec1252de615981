// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that spins before it blocks means the same after the fix, with the
// real runtime: two threads on one CPU, where each wait gives the CPU away.
//
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.c -- -std=gnu11 -D_GNU_SOURCE > %t.out
// RUN: grep -c '^ .*+= vf_spin_budget(' %t.c | FileCheck %s --check-prefix=FIXED
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O2 -I %vf_include %t.c -o %t.exe %vf_link
// RUN: env VF_STATS=1 %t.exe 2>&1 | FileCheck %s
//
// FIXED: {{^}}1{{$}}
// CHECK-DAG: 300 rounds, 0 wrong
// CHECK-DAG: "vfrt"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
enum { Rounds = 300 };
static atomic_int request, answer;
static int payload, reply, wrong;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void put(atomic_int *word, int v) {
  pthread_mutex_lock(&mutex);
  atomic_store(word, v);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}
static void await(atomic_int *word, int v) {
  for (int i = 0; i < 1000000; i++)
    if (atomic_load(word) == v)
      return;
  pthread_mutex_lock(&mutex);
  while (atomic_load(word) != v)
    pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}
static void *serve(void *p) {
  for (int i = 1; i <= Rounds; i++) {
    await(&request, i);
    reply = payload * 2;
    put(&answer, i);
  }
  return p;
}
int main(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  pthread_t t;
  pthread_create(&t, 0, serve, 0);
  for (int i = 1; i <= Rounds; i++) {
    payload = i;
    put(&request, i);
    await(&answer, i);
    wrong += reply != 2 * i;
  }
  pthread_join(t, 0);
  printf("%d rounds, %d wrong\n", Rounds, wrong);
  return 0;
}
