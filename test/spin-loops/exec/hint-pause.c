// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A poll that pauses.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>
#ifdef __x86_64__
#include <immintrin.h>
#else
#define _mm_pause() ((void)0)
#endif

static int threads;
static atomic_int flag;
static void raise_flag(int round) { atomic_store(&flag, round); }
static void await(int round) {
  while (atomic_load(&flag) != round)
    _mm_pause();
}

#define KIND_FLAG
#include "harness.h"
