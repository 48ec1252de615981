// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The examples of guidelines/heap-churn.md.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-*' %s -- -std=c11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdlib.h>

size_t unpack(size_t i, unsigned char *to, size_t size);
enum { SIZE = 100000 };

// example: bad
size_t each_takes_its_own(size_t n) {
  size_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:29: warning: 'record' is allocated by 'malloc' and released
    unsigned char *record = malloc(SIZE);
    if (!record)
      abort();
    sum += unpack(i, record, SIZE);
    free(record);
  }
  return sum;
}
// example end

// example: good
size_t all_use_one(size_t n) {
  size_t sum = 0;
  unsigned char *record = malloc(SIZE);
  if (!record)
    abort();
  for (size_t i = 0; i < n; i++)
    sum += unpack(i, record, SIZE);
  free(record);
  return sum;
}
// example end
