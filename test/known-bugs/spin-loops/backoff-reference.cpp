// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bug: a wait is not seen if its back-off keeps its count behind a reference, because each iteration
// then stores to memory that others may read.
//
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | FileCheck %s

#include <atomic>
#include <thread>

struct Backoff {
  unsigned n = 1;
  void operator()() {
    if (n <= 1024) {
      for (unsigned i = 0; i < n; i++)
        __builtin_ia32_pause();
      n *= 2;
    } else {
      std::this_thread::yield();
    }
  }
};
void wait_by(std::atomic<int> &f, Backoff &b) {
  // CHECK: :[[@LINE+1]]:3: warning: loop
  while (!f.load())
    b();
}
struct Spinner {
  Backoff b;
  void until(std::atomic<int> &f) {
    // CHECK: :[[@LINE+1]]:5: warning: loop
    while (!f.load())
      b();
  }
};
void wait_in(std::atomic<int> &f, Spinner &s) { s.until(f); }
