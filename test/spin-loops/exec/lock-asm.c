// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock taken by inline assembly.
//
// REQUIRES: host-x86_64
// RUN: %spin_exec

#define PAYLOAD volatile

static int threads;
static volatile int word;
static void lock(int self) {
  int v;
  (void)self;
  do {
    v = 1;
    __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(word) : : "memory");
  } while (v);
}
static void unlock(int self) {
  (void)self;
  __asm__ volatile("" ::: "memory");
  word = 0;
}


#define KIND_LOCK
#include "harness.h"
