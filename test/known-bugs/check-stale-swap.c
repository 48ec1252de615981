// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A try that gives up as soon as its (stale) copy says so: the loop condition
// never changes, so in effect this is a lock-free update. The check takes the
// swap with its never-renewed expected value for a try-lock.
// Seen in PARSEC's TBB (spin_rw_mutex_v2.cpp), whose authors forgot the re-read.
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- 2>&1 | FileCheck %s --allow-empty --implicit-check-not=warning:

int try_read(volatile int *state) {
  int s = *state;
  while (!(s & 3))
    if (__sync_bool_compare_and_swap(state, s, s + 4))
      return 1;
  return 0;
}
