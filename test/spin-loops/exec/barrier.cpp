// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sense-reversing barrier as a class.
//
// RUN: %spin_exec --tsan clean

#include <atomic>
static int threads;
class Barrier {
  std::atomic<int> Arrived{0};
  std::atomic<bool> Sense{false};

public:
  void wait(bool &Mine) {
    Mine = !Mine;
    if (++Arrived == threads) {
      Arrived = 0;
      Sense = Mine;
    } else {
      while (Sense.load(std::memory_order_acquire) != Mine) {}
    }
  }
};
static Barrier all;
static thread_local bool mine;
static void barrier(int) { all.wait(mine); }

#define KIND_BARRIER
#include "harness.h"
