// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops as in doubts.c that try to take a lock, or that wait without the lock
// that they have taken.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// CHECK-NOT: @vf_spin_wait_or_fallback

// REQUIRES: host-x86_64

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct task;
int task_done(struct task *t);
atomic_int flag, readers;

// A reader who counts himself in, finds a writer, and counts himself out.
void read_lock(void) {
  // expected-remark-re@+1 {{(try-lock) {{.*}}may do more than wait: each iteration undoes its change of shared memory}}
  for (;;) {
    if (!(atomic_fetch_add(&readers, 2) & 1))
      return;
    atomic_fetch_sub(&readers, 2);
    _mm_pause();
  }
}

// The same by inline assembly, whose result is what is waited for.
static inline int add(volatile int *p, int n) {
  __asm__ volatile("lock; xaddl %0, %1" : "+r"(n), "+m"(*p)::"memory");
  return n;
}
volatile int gate;
void enter(void) {
  // expected-remark@+1 {{(try-lock) on volatile 'gate' may do more than wait: each iteration undoes its change of shared memory}}
  for (;;) {
    if (!(add(&gate, 2) & 1))
      return;
    add(&gate, -2);
    _mm_pause();
  }
}

void enter_by_counting(void) {
  // expected-remark@+1 {{may do more than wait: each iteration undoes its change of shared memory}}
  for (;;) {
    __asm__ volatile("lock; incl %0" : "+m"(gate)::"memory");
    if (!(gate & 1))
      return;
    __asm__ volatile("lock; decl %0" : "+m"(gate)::"memory");
    _mm_pause();
  }
}

// Why not: each iteration leaves its mark.
void not_adding(void) {
  while (!atomic_load(&flag)) {
    atomic_fetch_add(&readers, 2);
    _mm_pause();
  }
}

// Why not: each iteration leaves its mark, by assembly.
void not_adding_by_assembly(void) {
  int n;
  do {
    _mm_pause();
    n = 2;
    __asm__ volatile("lock; xaddl %0, %1" : "+r"(n), "+m"(gate)::"memory");
  } while (n & 1);
}

// A lock that cannot be released is a mistake, which it reports.
void report_error(int error);
void wait_outside_of_lock(pthread_mutex_t *m, struct task *t) {
  // expected-remark@+1 {{it calls 'task_done', whose effects are unknown}}
  while (!task_done(t)) {
    int error = pthread_mutex_unlock(m);
    if (error)
      report_error(error);
    sched_yield();
    error = pthread_mutex_lock(m);
    if (error)
      report_error(error);
  }
}
// Why not: that a lock is taken is no mistake.
void report_taken(pthread_mutex_t *m, struct task *t) {
  while (!task_done(t)) {
    int error = pthread_mutex_trylock(m);
    if (error)
      report_error(error);
    else
      pthread_mutex_unlock(m);
    sched_yield();
  }
}
