// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A seqlock's reader that stores what it reads through pointers waits while the
// version is odd: the next iteration stores all of it again.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdatomic.h>

struct seq { _Atomic unsigned version; int x, y; } shared;
void seqlock(int *x, int *y) {
  unsigned v;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a seqlock's version, atomic 'shared.version'
  do {
    v = atomic_load(&shared.version);
    *x = shared.x;
    *y = shared.y;
  } while ((v & 1) || v != atomic_load(&shared.version));
}

// Not reported: it copies for other threads, until it is told to stop.
void publish(int *x, int *y, _Atomic int *stop) {
  while (!atomic_load(stop)) {
    *x = shared.x;
    *y = shared.y;
  }
}
// Nor one that counts its copies.
void count_copies(int *x, int *copies) {
  unsigned v;
  do {
    v = atomic_load(&shared.version);
    *x = shared.x;
    copies[*x]++;
  } while ((v & 1) || v != atomic_load(&shared.version));
}
