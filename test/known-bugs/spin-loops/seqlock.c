// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Known bug: a seqlock's reader that stores what it reads through pointers waits
// while the version is odd. Its stores are effects for the judge, which does not
// know that the next iteration repeats them.
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | FileCheck %s

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
