// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bug: the check misses waits that the pass rewrites: a spin that parks now and then, and a lock
// in a class whose expected value has a bit cleared.
//
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | FileCheck %s

#include <atomic>
#include <cstdint>

class Parker {
public:
  void park();
};
struct Waiter {
  Parker parker;
  std::atomic<bool> granted{false};
};
void await_grant(Waiter &w) {
  int spins = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop
  while (!w.granted.load(std::memory_order_acquire)) {
    if (++spins < 16384) {
      __builtin_ia32_pause();
      continue;
    }
    w.parker.park();
    spins = 0;
  }
}

class TaggedLock {
  std::atomic<uintptr_t> word{0};

public:
  uintptr_t lock() {
    uintptr_t seen = word.load(std::memory_order_relaxed);
    // CHECK: :[[@LINE+1]]:5: warning: loop
    do {
      seen &= ~uintptr_t(1);
    } while (!word.compare_exchange_weak(seen, seen | 1, std::memory_order_acquire));
    return seen;
  }
};
uintptr_t lock(TaggedLock &l) { return l.lock(); }
