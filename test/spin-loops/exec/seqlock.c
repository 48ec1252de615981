// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reader polls until the version is even, unchanged, and this iteration's.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static atomic_uint version;
static atomic_int first, second;
static void raise_flag(int round) {
  atomic_fetch_add(&version, 1);
  atomic_store(&first, round);
  atomic_store(&second, -round);
  atomic_fetch_add(&version, 1);
}
static int read_both(int *other) {
  unsigned before;
  int value;
  do {
    while ((before = atomic_load(&version)) & 1) {}
    value = atomic_load(&first);
    *other = atomic_load(&second);
  } while (atomic_load(&version) != before);
  return value;
}
static void await(int round) {
  int a, b;
  while ((a = read_both(&b)) != round)
    if (b != -a)
      __builtin_trap();
  if (b != -round)
    __builtin_trap();
}

#define KIND_FLAG
#include "harness.h"
