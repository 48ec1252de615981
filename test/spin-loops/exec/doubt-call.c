// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait that calls a function whose effects are not known gives way and keeps
// all its iterations: each is counted by the function and by the loop.
//
// REQUIRES: host-x86_64
// RUN: %spin_exec --tsan clean

#include <immintrin.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static int threads;
static atomic_int raised;
static _Thread_local long asked;
static int has_come(int round) {
  asked++;
  return atomic_load(&raised) >= round;
}
static int (*volatile unknown)(int) = has_come;

static void await(int round) {
  int (*asks)(int) = unknown;
  long before = asked, failed = 0;
  while (!asks(round)) {
    failed++;
    _mm_pause();
  }
  if (asked - before != failed + 1) {
    fprintf(stderr, "%ld calls, %ld iterations\n", asked - before, failed);
    _Exit(1);
  }
}
static void raise_flag(int round) { atomic_store(&raised, round); }

#define KIND_FLAG
#include "harness.h"
