// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compare-and-swap whose expected value has a bit cleared: a wait until others clear the bit.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <cstdint>

class TaggedLock {
  std::atomic<uintptr_t> word{0};

public:
  uintptr_t lock() {
    uintptr_t seen = word.load(std::memory_order_relaxed);
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a try-lock, compare-and-swap of atomic 'word'
    do {
      seen &= ~uintptr_t(1);
    } while (!word.compare_exchange_weak(seen, seen | 1, std::memory_order_acquire));
    return seen;
  }
};
uintptr_t lock(TaggedLock &l) { return l.lock(); }

void lock_in_body(std::atomic<int> &word) {
  int seen = word.load(std::memory_order_acquire);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'word'
  while (true) {
    seen &= ~8;
    if (word.compare_exchange_weak(seen, seen | 16, std::memory_order_acq_rel, std::memory_order_acquire))
      break;
  }
}

// Twin: expects what it has just read, whatever that is.
uintptr_t add(std::atomic<uintptr_t> &word) {
  uintptr_t seen = word.load(std::memory_order_relaxed), next;
  do {
    next = (seen & ~uintptr_t(1)) + 2;
  } while (!word.compare_exchange_weak(seen, next, std::memory_order_acquire));
  return seen;
}
