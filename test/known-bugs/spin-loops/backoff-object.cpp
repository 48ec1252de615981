// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Known bug: the check is silent about waits whose back-off is a member function
// that spins for a while and then yields by a function of another file. The pass
// reports them, in doubt. Without that call the check reports the loop, too.
// XFAIL: *
// REQUIRES: host-x86_64
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | FileCheck %s
// CHECK: :[[@LINE+24]]:3: warning: loop

#include <atomic>

struct ThisThread {
  static void yield();
};
struct Backoff {
  unsigned Count = 1, SoFar = 0;
  void tick() {
    if (SoFar < 10000) {
      for (unsigned I = 0; I < Count; I++)
        __builtin_ia32_pause();
      SoFar += Count;
      Count *= 2;
      return;
    }
    ThisThread::yield();
  }
};
std::atomic<int> Busy;

void leave() {
  Backoff Wait;
  while (Busy.load(std::memory_order_acquire) > 0)
    Wait.tick();
}
