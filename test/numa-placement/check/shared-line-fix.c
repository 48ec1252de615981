// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fix in C11: the first member has the alignment, as a structure cannot.
// RUN: clang -std=gnu11 -Wall -Werror %s -o %t.before -lpthread
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-shared-line' --fix %t.c -- -std=gnu11 > %t.out 2>&1
// RUN: grep '^/' %t.out | FileCheck %s --implicit-check-not=warning: --implicit-check-not='no fix'
// RUN: sed '/ FIXED/d;/ CHECK/d' %t.c | FileCheck %s --check-prefix=FIXED
// RUN: clang -std=gnu11 -Wall -Werror %t.c -o %t.after -lpthread
// RUN: %t.before | FileCheck %s --check-prefix=BEFORE
// RUN: %t.after | FileCheck %s --check-prefix=AFTER
//
// C99 has no alignment.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-shared-line' %s -- -std=gnu99 2>&1 | FileCheck %s --check-prefix=C99
// C99: note: no fix: alignment needs C11 or C++11

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, TIMES = 1000 };

// FIXED: struct count {
// FIXED-NEXT: _Alignas(64) long hits;
struct count {
  long hits;
  int misses;
};
static struct count counts[THREADS];

// Not fixed: both members would get the alignment.
// FIXED: struct pair {
// FIXED-NEXT: long a, b;
struct pair {
  long a, b;
};
static struct pair pairs[THREADS];

void *count(void *arg) {
  long me = (long)arg;
  for (int i = 0; i < TIMES; i++) {
    // CHECK: :[[@LINE+1]]:5: warning: threads write neighbouring elements of 'counts' in loops, 16 bytes each
    counts[me].hits++;
    counts[me].misses += 2;
    // CHECK: :[[@LINE+2]]:5: warning: threads write neighbouring elements of 'pairs' in loops, 16 bytes each
    // CHECK: note: no fix: the first member of its element's type cannot be aligned
    pairs[me].a++;
  }
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  for (long t = 0; t < THREADS; t++)
    pthread_create(&threads[t], 0, count, (void *)t);
  long hits = 0, misses = 0;
  for (int t = 0; t < THREADS; t++) {
    pthread_join(threads[t], 0);
    hits += counts[t].hits;
    misses += counts[t].misses;
  }
  // BEFORE: 4000 8000 apart 16
  // AFTER: 4000 8000 apart 64
  printf("%ld %ld apart %ld\n", hits, misses, (long)((char *)&counts[1] - (char *)&counts[0]));
  return 0;
}
