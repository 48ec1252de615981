// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Known bug: a wait that counts its polls in an object of its caller is not
// reported, as others may read the count.
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | FileCheck %s

#include <atomic>
#include <thread>

struct Counts {
  unsigned long polls = 0, most = 0;
  void note(unsigned long n) {
    polls += n;
    if (n > most)
      most = n;
  }
};
void await(std::atomic<int *> &slot, Counts &counts) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'slot'
  while (!slot.load(std::memory_order_acquire)) {
    counts.note(1);
    std::this_thread::yield();
  }
}
