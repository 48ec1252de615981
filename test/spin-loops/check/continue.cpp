// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that go on by `continue` out of the scope of a variable. The way back has no place in debug
// information then; the loop is found by its polls.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <thread>

std::atomic<unsigned long> word;
std::atomic<int> count;

void lock_unless_zero() {
  // CHECK: :[[@LINE+1]]:3: warning{{:}} loop spins on a test-and-test-and-set lock
  while (true) {
    if (count.load(std::memory_order_relaxed) == 0)
      return;
    unsigned long seen = word.load();
    if ((seen & 1) == 1 || !std::atomic_compare_exchange_weak(&word, &seen, seen | 1)) {
      std::this_thread::yield();
      continue;
    }
    break;
  }
  word.store(0);
}

// Not a wait: any change of the word ends the iteration well.
void add_unless_zero() {
  while (true) {
    if (count.load(std::memory_order_relaxed) == 0)
      return;
    unsigned long seen = word.load();
    if (!std::atomic_compare_exchange_weak(&word, &seen, seen + 1))
      continue;
    break;
  }
}
