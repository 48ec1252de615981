// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What serial code writes first and a region uses is placed: after its allocation, and
// before main if it is a static array.
//
// RUN: %verify_c %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -fopenmp -S -emit-llvm -mllvm -vf-numa=off %s -o - | FileCheck %s --check-prefix=OFF
// OFF-NOT: vf_numa

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 20 };

// CHECK-DAG: @llvm.global_ctors = appending global [1 x {{.*}} { i32 101, ptr @vf_numa_place_static
static double blocks[N], chunks[N], gathered[N];

void static_arrays(const int *index, double *sum) {
  for (int i = 0; i < N; ++i) {
    // expected-remark@+1 {{'blocks' (8388608 bytes), which serial code writes first and a parallel region uses, is placed in blocks, one for each thread before that write; link}}
    blocks[i] = i * *sum;
    chunks[i] = i - *sum; // expected-remark {{'chunks' (8388608 bytes), which serial code writes first and a parallel region uses, is interleaved over all nodes}}
    gathered[i] = i / *sum; // expected-remark {{'gathered' (8388608 bytes), which serial code writes first and a parallel region uses, is interleaved}}
  }
#pragma omp parallel for
  for (int i = 0; i < N; ++i)
    blocks[i] += 1;
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < N; ++i)
    chunks[i] += 1;
  double all = 0;
#pragma omp parallel for reduction(+ : all)
  for (int i = 0; i < N; ++i)
    all += gathered[index[i]];
  *sum = all;
}
// A variable that threads share by reference.
double captured(long n) {
  double *x = malloc(n * sizeof *x);
  for (long i = 0; i < n; ++i)
    x[i] = 1; // expected-remark {{'x', which serial code writes first and a parallel region uses, is placed in blocks, one for each thread before that write if it has at least 65536 bytes; link}}
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; ++i)
    sum += x[i];
  free(x);
  return sum;
}
// CHECK-LABEL: define {{.*}}@captured(
// CHECK: [[X:%.*]] = {{.*}}call {{.*}}@malloc(i64
// CHECK: call void @vf_numa_place_if_linked(ptr {{.*}}[[X]], i64 {{.*}}, i32 2)
// CHECK: store

// A member of a struct on the heap, filled and used in other functions.
struct grid {
  long n;
  float *cells, *old;
};

__attribute__((noinline)) static void clear(struct grid *g) {
  memset(g->cells, 1, g->n * sizeof *g->cells); // expected-remark {{memory, which serial code writes first and a parallel region uses, is placed in blocks}}
}

__attribute__((noinline)) static void step(struct grid *g) {
#pragma omp parallel for
  for (long i = 0; i < g->n; ++i)
    g->old[i] = g->cells[i]; // expected-remark {{memory is not placed: the threads that use it write it first}}
}

void *members(long n) {
  struct grid *g = malloc(sizeof *g);
  g->n = n;
  g->cells = calloc(n, sizeof *g->cells);
  g->old = calloc(n, sizeof *g->old);
  clear(g);
  step(g);
  return g;
}
// CHECK-LABEL: define {{.*}}@members(
// CHECK: [[CELLS:%.*]] = {{.*}}@calloc(
// CHECK: vf_numa_place_if_linked(ptr {{.*}}[[CELLS]],
// CHECK-NOT: vf_numa_place_if_linked
// CHECK-LABEL: define

// Each call of a wrapper is an object of its own.
__attribute__((noinline)) static void *get(size_t n) {
  void *p = malloc(n * 8);
  if (!p)
    exit(1);
  return p;
}

void wrappers(long n) {
  double *a = get(n), *b = get(n);
  for (long i = 0; i < n; ++i)
    a[i] = 0; // expected-remark {{'a', which serial code writes first and a parallel region uses, is placed in blocks}}
#pragma omp parallel for
  for (long i = 0; i < n; ++i)
    b[i] = a[i]; // expected-remark {{'b' is not placed: the threads that use it write it first}}
  free(a);
  free(b);
}

// POSIX threads: nothing is known of who has which part.
static double *shared_by_threads;

static void *work(void *slice) {
  long from = (long)slice;
  for (long i = from; i < from + 1000; ++i)
    shared_by_threads[i] *= 2;
  return 0;
}

void threads(long n, pthread_t *thread) {
  shared_by_threads = malloc(n * sizeof(double));
  for (long i = 0; i < n; ++i)
    shared_by_threads[i] = 3; // expected-remark {{'shared_by_threads', which serial code writes first and a parallel region uses, is interleaved}}
  for (long i = 0; i < 4; ++i)
    pthread_create(&thread[i], 0, work, (void *)(i * 1000));
}

// One thread of a region is serial code, too.
void single(long n) {
  double *x = malloc(n * sizeof *x);
#pragma omp parallel
  {
#pragma omp single
    for (long i = 0; i < n; ++i)
      x[i] = 1; // expected-remark {{'x', which serial code writes first and a parallel region uses, is placed in blocks}}
#pragma omp for
    for (long i = 0; i < n; ++i)
      x[i] += 1;
  }
  free(x);
}

// An orphaned loop that is called outside of any region runs in one thread; called inside of
// one it does not.
__attribute__((noinline)) static void zero(double *z, long n) {
#pragma omp for
  for (long i = 0; i < n; ++i)
    // expected-remark@+2 {{'u', which serial code writes first and a parallel region uses, is placed in blocks}}
    // expected-remark@+1 {{'v' is not placed: the threads that use it write it first}}
    z[i] = 0;
}

void orphaned(long n) {
  double *u = malloc(n * sizeof *u), *v = malloc(n * sizeof *v);
  zero(u, n);
#pragma omp parallel
  {
    zero(v, n);
#pragma omp for
    for (long i = 0; i < n; ++i)
      v[i] += u[i];
  }
  free(u);
  free(v);
}

// Static arrays. Two policies, 2 | 16 and 1 | 16: see vfriendly/numa.h.
// CHECK-LABEL: define internal void @vf_numa_place_static()
// CHECK-DAG: call void @vf_numa_place_if_linked(ptr nonnull @blocks, i64 8388608, i32 18)
// CHECK-DAG: call void @vf_numa_place_if_linked(ptr nonnull @chunks, i64 8388608, i32 17)
// CHECK-DAG: call void @vf_numa_place_if_linked(ptr nonnull @gathered, i64 8388608, i32 17)
