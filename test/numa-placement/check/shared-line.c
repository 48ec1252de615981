// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of threads that share a cache line, and beside each what shares none.
// REQUIRES: openmp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-shared-line' %s -- -std=gnu11 -fopenmp 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 8 };

// example: neighbours
double sum_beside_others(const double *x, long n) {
  // CHECK-DAG: :[[@LINE+1]]:10: note: no fix: the element is no structure, so its alignment is fixed
  double sums[THREADS] = {0};
#pragma omp parallel num_threads(THREADS)
  {
    int me = omp_get_thread_num();
#pragma omp for
    for (long i = 0; i < n; i++)
      // CHECK-DAG: :[[@LINE+1]]:7: warning: threads write neighbouring elements of 'sums' in loops, 8 bytes each: each write moves the cache line; give each thread a line of its own (guidelines/numa-placement.md) [vfriendly-numa-placement-shared-line]
      sums[me] += x[i];
  }
  double sum = 0;
  for (int t = 0; t < THREADS; t++)
    sum += sums[t];
  return sum;
}
// example end

// example: local
double sum_by_itself(const double *x, long n) {
  double sums[THREADS] = {0};
#pragma omp parallel num_threads(THREADS)
  {
    double mine = 0;
#pragma omp for
    for (long i = 0; i < n; i++)
      mine += x[i];
    sums[omp_get_thread_num()] = mine;
  }
  double sum = 0;
  for (int t = 0; t < THREADS; t++)
    sum += sums[t];
  return sum;
}
// example end

// The structure that a thread gets.
struct part {
  const double *from;
  long n;
  double sum;
};
void *add(void *arg) {
  struct part *part = arg;
  for (long i = 0; i < part->n; i++)
    // CHECK-DAG: :[[@LINE+1]]:5: warning: threads write neighbouring elements of 'parts' in loops, 24 bytes each
    part->sum += part->from[i];
  return 0;
}
void start(const double *x, long n) {
  pthread_t threads[THREADS];
  // CHECK-DAG: :[[@LINE+1]]:16: note: no fix: its memory may lack the alignment of the type; allocate it with aligned_alloc
  struct part *parts = malloc(THREADS * sizeof *parts);
  for (int t = 0; t < THREADS; t++) {
    parts[t] = (struct part){x + n / THREADS * t, n / THREADS, 0};
    pthread_create(&threads[t], 0, add, &parts[t]);
  }
  for (int t = 0; t < THREADS; t++)
    pthread_join(threads[t], 0);
  free(parts);
}

// The number of the thread, as an argument; a row of an array; atomic.
static int hits[THREADS][4];
static _Atomic long done[THREADS];
static long misses[THREADS];
void *count(void *arg) {
  long me = (long)arg;
  for (int i = 0; i < 1000; i++) {
    // CHECK-DAG: :[[@LINE+2]]:5: warning: threads write neighbouring elements of 'hits' in loops, 16 bytes each
    // CHECK-DAG: :[[@LINE-7]]:12: note: no fix: the element is no structure
    hits[me][i % 4]++;
    // CHECK-DAG: :[[@LINE+2]]:5: warning: threads write neighbouring elements of 'done' in loops, 8 bytes each
    // CHECK-DAG: :[[@LINE-9]]:21: note: no fix: the element is no structure
    atomic_fetch_add(&done[me], 1);
    // CHECK-DAG: :[[@LINE+3]]:5: warning: threads write neighbouring elements of 'misses' in loops, 8 bytes each
    // CHECK-DAG: :[[@LINE-11]]:13: note: no fix: the element is no structure
    long *mine = &misses[me];
    (*mine)++;
  }
  return 0;
}
void start_numbered(void) {
  pthread_t threads[THREADS];
  for (long t = 0; t < THREADS; t++)
    pthread_create(&threads[t], 0, count, (void *)t);
}

// As long as a line, but it begins anywhere in one.
struct line {
  long all[7];
  long sum;
};
struct ends_in_padding {
  long sum;
  char padding[56];
};
// CHECK-DAG: :[[@LINE+1]]:20: note: no fix: other code depends on the size
static struct line lines[THREADS];
static struct ends_in_padding ending[THREADS];
static struct line aligned[THREADS] __attribute__((aligned(64)));
long size_of_line(void) { return sizeof(struct line); }
void whole(long n) {
#pragma omp parallel
  for (long i = 0; i < n; i++) {
    // CHECK-DAG: :[[@LINE+1]]:5: warning: threads write neighbouring elements of 'lines' in loops, 64 bytes each
    lines[omp_get_thread_num()].sum += i;
    ending[omp_get_thread_num()].sum += i;
    aligned[omp_get_thread_num()].sum += i;
  }
}

// Not reported: each element has its line, by its type or by the distance.
struct padded {
  _Alignas(64) long count;
};
static struct padded padded[THREADS];
static long spaced[THREADS * 8];
static double rows[THREADS][512];
void apart(long n) {
#pragma omp parallel
  {
    int me = omp_get_thread_num();
    for (long i = 0; i < n; i++) {
      padded[me].count++;
      spaced[me * 8]++;
      rows[me][i % 512] += 1;
    }
  }
}

// Not reported: what a pointer in the element leads to; elements of the thread's own.
void elsewhere(double **buffers, long n) {
#pragma omp parallel
  {
    int me = omp_get_thread_num();
    long own[THREADS] = {0};
    for (long i = 0; i < n; i++) {
      buffers[me][i] = i;
      own[me]++;
    }
  }
}

// Not reported: written once, and a few times.
void once(long *ends) {
#pragma omp parallel
  {
    int me = omp_get_thread_num();
    ends[me] = 0;
    for (int i = 0; i < 3; i++)
      ends[me] += i;
  }
}

// Not reported: a thread that sleeps between its writes moves few lines.
void seldom(long *beats, long n) {
#pragma omp parallel
  for (long i = 0; i < n; i++) {
    beats[omp_get_thread_num()]++;
    usleep(1000);
  }
}

// Not reported: each thread walks through a part of its own.
void parts(double *x, long n) {
#pragma omp parallel
  {
    long part = n / omp_get_num_threads();
    long from = omp_get_thread_num() * part;
    for (long i = from; i < from + part; i++)
      x[i] = 0;
  }
}

// Not reported: one thread fills the arguments of all.
void arguments(struct part *all) {
  for (int t = 0; t < 100000; t++)
    all[t].n = t;
}

// Not reported: its author says so.
__attribute__((annotate("vfriendly:keep"))) void kept(long *sums, long n) {
#pragma omp parallel
  for (long i = 0; i < n; i++)
    sums[omp_get_thread_num()]++;
}
