// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions replace critical sections and atomic operations; the program prints the same before
// and after.
//
// REQUIRES: openmp
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-parallel-update' --fix %t.c -- -std=c11 -fopenmp 2>&1 | grep '^/' > %t.out
// RUN: FileCheck %s --check-prefix=WHY < %t.out
// RUN: sed -e '/^ *\/\//d' %t.c | FileCheck %s --match-full-lines --strict-whitespace --check-prefix=FIXED
// RUN: clang -std=c11 -O1 -fopenmp %s -o %t.before && clang -std=c11 -O1 -fopenmp %t.c -o %t.after
// RUN: env OMP_NUM_THREADS=4 %t.before > %t.before.out && env OMP_NUM_THREADS=4 %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out

#include <stdio.h>

enum { N = 100000 };
static int x[N];
static long global;
static void take(long *p) { *p += 1; }

//      FIXED:static void several(void) {
// FIXED-NEXT:  long sum = 1, odd = 0;
// FIXED-NEXT:  int most = 0, least = 0;
// FIXED-NEXT:  unsigned bits = 0;
// FIXED-NEXT:#pragma omp parallel for schedule(static) reduction(+: sum) reduction(max: most) reduction(min: least) reduction(+: odd) reduction(^: bits)
// FIXED-NEXT:  for (int i = 0; i < N; i++) {
// FIXED-NEXT:    {
// FIXED-NEXT:      sum = sum + x[i];
static void several(void) {
  long sum = 1, odd = 0;
  int most = 0, least = 0;
  unsigned bits = 0;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < N; i++) {
#pragma omp critical(all)
    {
      sum = sum + x[i];
      if (x[i] > most) {
        most = x[i];
      }
      least = x[i] < least ? x[i] : least;
    }
    if (x[i] & 1) {
#pragma omp atomic
      odd++;
    } else {
#pragma omp atomic update
      odd -= 2;
    }
#pragma omp atomic
    bits ^= (unsigned)x[i];
  }
  printf("%ld %d %d %ld %u\n", sum, most, least, odd, bits);
}

// The clause stands where the variable is shared: at the loop of a team.
//      FIXED:static long in_region(void) {
// FIXED-NEXT:  long sum = 0;
// FIXED-NEXT:#pragma omp parallel
// FIXED-NEXT:  {
// FIXED-NEXT:#pragma omp for nowait \
// FIXED-NEXT:    schedule(dynamic, 100) reduction(+: sum)
// FIXED-NEXT:    for (int i = 0; i < N; i++)
// FIXED-NEXT:      sum += x[i];
static long in_region(void) {
  long sum = 0;
#pragma omp parallel
  {
#pragma omp for nowait \
    schedule(dynamic, 100)
    for (int i = 0; i < N; i++)
#pragma omp atomic
      sum += x[i];
  }
  return sum;
}

// Declined; each stays as it is.
//      FIXED:static long declined(void) {
// FIXED-NEXT:  long read = 0, escapes = 0, odd = 0, mixed = 1;
// FIXED-NEXT:  take(&escapes);
// FIXED-NEXT:#pragma omp parallel for
static long declined(void) {
  long read = 0, escapes = 0, odd = 0, mixed = 1;
  take(&escapes);
#pragma omp parallel for
  for (int i = 0; i < N; i++) {
    // Other functions may update it at the same time.
    // WHY: note: no fix: other functions can reach the result
#pragma omp atomic
    global += x[i];
    // WHY: note: no fix: something may hold the address of the result
#pragma omp atomic
    escapes += x[i];
    // The loop sees the partial result.
    // WHY: note: no fix: the loop uses the result in another way
#pragma omp atomic
    read += x[i] & 1;
    if (read < 0)
      x[i] = 0;
    // Not a sum: the value depends on the result.
#pragma omp atomic
    odd += odd < 0 ? 0 : 1;
    // WHY: note: no fix: the loop combines the result in different ways
#pragma omp atomic
    mixed += 2;
    // WHY: note: no fix: the loop combines the result in different ways
#pragma omp atomic
    mixed *= 1;
  }
  return global + escapes + (read > 0) + (odd > 0) + (mixed > 0);
}

// Several teams, or tasks of several threads, would add to the result at the same time.
// WHY: note: no fix: the team of threads is not visible here
// WHY: note: no fix: the team of threads is not visible here
static long teams(void) {
  long sum = 0, other = 0;
#pragma omp parallel num_threads(2)
#pragma omp parallel for
  for (int i = 0; i < N; i++)
#pragma omp atomic
    sum += x[i];
#pragma omp parallel
#pragma omp taskloop
  for (int i = 0; i < 100; i++)
#pragma omp atomic
    other += x[i];
  return sum + (other > 0);
}

// A thread may be before the loop while another one has finished it.
// WHY: note: no fix: the region uses the result outside of the loop
static long before(void) {
  long sum = 0;
#pragma omp parallel num_threads(4)
  {
#pragma omp atomic
    sum += 1;
#pragma omp for
    for (int i = 0; i < N; i++)
#pragma omp atomic
      sum += x[i];
  }
  return sum;
}

// WHY: note: no fix: the team of threads is not visible here
static long orphan(void) {
  long sum = 0;
#pragma omp for
  for (int i = 0; i < N; i++)
#pragma omp atomic
    sum += x[i];
  return sum;
}

// A clause that shares only the result is replaced; one of the region around stays. Not one with other variables.
//      FIXED:static long shared(void) {
// FIXED-NEXT:  long sum = 0, more = 0;
// FIXED-NEXT:#pragma omp parallel for reduction(+: sum) schedule(static, 10)
//      FIXED:#pragma omp parallel shared(more)
// FIXED-NEXT:#pragma omp for reduction(+: more)
//      FIXED:#pragma omp parallel for shared(sum, more)
// WHY: note: no fix: a clause of the loop names the result
static long shared(void) {
  long sum = 0, more = 0;
#pragma omp parallel for shared(sum) schedule(static, 10)
  for (int i = 0; i < N; i++) {
#pragma omp atomic
    sum += x[i];
  }
#pragma omp parallel shared(more)
#pragma omp for
  for (int i = 0; i < N; i++) {
#pragma omp atomic
    more += x[i];
  }
#pragma omp parallel for shared(sum, more)
  for (int i = 0; i < N; i++) {
#pragma omp atomic
    sum += x[i] & 1;
  }
  return sum * 2 + more;
}

int main(void) {
  for (int i = 0; i < N; i++)
    x[i] = i * 7919 % 10007 - 5000;
  several();
  printf("%ld %ld %ld\n", in_region(), declined(), orphan());
  printf("%ld %ld %ld\n", teams(), before(), shared());
}
