// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bug: a try that rotates over several queues is a wait.
//
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | FileCheck %s

#include <atomic>
#include <optional>
#include <thread>

struct Ring {
  std::atomic<unsigned> head{0}, tail{0};
  int slot[256];
  std::optional<int> take() {
    unsigned t = tail.load(std::memory_order_relaxed);
    if (t == head.load(std::memory_order_acquire))
      return std::nullopt;
    int x = slot[t % 256];
    tail.store(t + 1, std::memory_order_release);
    return x;
  }
};
int steal(Ring *rings, unsigned n, unsigned me) {
  // CHECK: :[[@LINE+1]]:3: warning: loop
  for (unsigned v = me;; v = (v + 1) % n) {
    if (auto t = rings[v].take())
      return *t;
    std::this_thread::yield();
  }
}
