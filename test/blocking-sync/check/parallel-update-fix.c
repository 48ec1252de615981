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
#include <string.h>

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

// What stands after the loop in its region runs after the loop's barrier.
//      FIXED:static long after(void) {
// FIXED-NEXT:  long sum = 0;
// FIXED-NEXT:#pragma omp parallel num_threads(4)
// FIXED-NEXT:  {
// FIXED-NEXT:    int mine = 0;
// FIXED-NEXT:#pragma omp for reduction(+: sum)
// FIXED-NEXT:    for (int i = 0; i < N; i++) {
// FIXED-NEXT:      mine += x[i] & 1;
// FIXED-NEXT:      sum += x[i];
static long after(void) {
  long sum = 0;
#pragma omp parallel num_threads(4)
  {
    int mine = 0;
#pragma omp for
    for (int i = 0; i < N; i++) {
      mine += x[i] & 1;
#pragma omp atomic
      sum += x[i];
    }
#pragma omp atomic
    sum -= mine;
  }
  return sum;
}

// Not there: a thread may come back to the loop, and without the barrier be after it too early.
// WHY: note: no fix: the region uses the result outside of the loop
// WHY: note: no fix: the region uses the result outside of the loop
static long not_after(void) {
  long sum = 0, other = 0;
#pragma omp parallel num_threads(4)
  for (int k = 0; k < 3; k++) {
#pragma omp for
    for (int i = 0; i < N; i++)
#pragma omp atomic
      sum += x[i];
#pragma omp atomic
    sum -= k;
  }
#pragma omp parallel num_threads(4)
  {
#pragma omp for nowait
    for (int i = 0; i < N; i++)
#pragma omp atomic
      other += x[i];
#pragma omp atomic
    other += 1;
  }
  return sum + other;
}

// Counters that fit into each thread's stack.
//      FIXED:static long histogram(void) {
// FIXED-NEXT:  int counts[16] = {0}, cells[4][8];
// FIXED-NEXT:  memset(cells, 0, sizeof cells);
// FIXED-NEXT:#pragma omp parallel for reduction(+: counts) reduction(+: cells)
//      FIXED:      counts[x[i] & 15]++;
//      FIXED:    cells[x[i] & 3][i & 7] += x[i];
static long histogram(void) {
  int counts[16] = {0}, cells[4][8];
  memset(cells, 0, sizeof cells);
#pragma omp parallel for
  for (int i = 0; i < N; i++) {
    if (x[i] > 0) {
#pragma omp atomic
      counts[x[i] & 15]++;
    }
#pragma omp atomic
    cells[x[i] & 3][i & 7] += x[i];
  }
  long sum = 0;
  for (int i = 0; i < 16; i++)
    sum = sum * 3 + counts[i] + cells[i & 3][i & 7];
  return sum;
}

// Not these: the loop reads a counter; somebody may have the address; too many for a stack.
// WHY: note: no fix: the loop uses the result in another way
// WHY: note: no fix: something may hold the address of the result
static long no_histogram(void) {
  int seen[16] = {0}, many[4096] = {0};
  long escaped[4] = {0};
  take(escaped);
#pragma omp parallel for
  for (int i = 0; i < N; i++) {
#pragma omp atomic
    seen[x[i] & 15]++;
    if (seen[3] < 0)
      x[i] = 0;
#pragma omp atomic
    escaped[x[i] & 3]++;
#pragma omp atomic
    many[x[i] & 4095]++;
  }
  return (seen[0] > 0) + escaped[1] + many[5];
}

// A loop for an accelerator.
//      FIXED:static long device(void) {
// FIXED-NEXT:  long sum = 0, more = 0, all = 0, lost = 0;
// FIXED-NEXT:#pragma omp target map(tofrom: sum, x)
// FIXED-NEXT:#pragma omp parallel for reduction(+: sum)
//      FIXED:#pragma omp target parallel for map(tofrom: more) reduction(+: more)
//      FIXED:#pragma omp target teams distribute parallel for map(all) reduction(+: all)
//      FIXED:#pragma omp target parallel for map(to: lost)
// FIXED-NEXT:  for (int i = 0; i < N; i++)
// FIXED-NEXT:#pragma omp atomic
// FIXED-NEXT:    lost += x[i];
// WHY: note: no fix: no clause maps the result to the device and back
// WHY: note: no fix: the team of threads is not visible here
static long device(void) {
  long sum = 0, more = 0, all = 0, lost = 0;
#pragma omp target map(tofrom: sum, x)
#pragma omp parallel for
  for (int i = 0; i < N; i++)
#pragma omp atomic
    sum += x[i];
#pragma omp target parallel for map(tofrom: more)
  for (int i = 0; i < N; i++)
#pragma omp atomic
    more += x[i];
#pragma omp target teams distribute parallel for map(all)
  for (int i = 0; i < N; i++)
#pragma omp atomic
    all += x[i];
#pragma omp target parallel for map(to: lost)
  for (int i = 0; i < N; i++)
#pragma omp atomic
    lost += x[i];
  // Each team would combine its own sum.
#pragma omp target teams map(tofrom: sum) num_teams(2)
#pragma omp distribute parallel for
  for (int i = 0; i < N; i++)
#pragma omp atomic
    sum += x[i];
  return sum * 5 + more * 3 + all + (lost != 1);
}

int main(void) {
  for (int i = 0; i < N; i++)
    x[i] = i * 7919 % 10007 - 5000;
  several();
  printf("%ld %ld %ld\n", in_region(), declined(), orphan());
  printf("%ld %ld %ld\n", teams(), before(), shared());
  printf("%ld %ld %ld %ld %ld\n", after(), not_after(), histogram(), no_histogram(), device());
}
