// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ticket lock as a class.
//
// RUN: %spin_exec --tsan clean

#include <atomic>

static int threads;
class TicketLock {
  std::atomic<unsigned> Next{0}, Owner{0};

public:
  void lock() {
    auto Mine = Next++;
    while (Owner.load(std::memory_order_acquire) != Mine) {}
  }
  void unlock() { Owner.fetch_add(1, std::memory_order_release); }
};
static TicketLock ticket;
static void lock(int) { ticket.lock(); }
static void unlock(int) { ticket.unlock(); }

#define KIND_LOCK
#include "harness.h"
