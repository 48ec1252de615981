// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock bit: while it is set, the loop yields and reads the word again; otherwise it tries to set it, and a
// failed try has read the word, too. The last value is kept for the caller.
//
// RUN: %spin_exec --tsan clean

#include <atomic>
#include <thread>

static int threads;
static std::atomic<unsigned> word;
static unsigned seen[8];
static void lock(int self) {
  unsigned old = word.load(std::memory_order_acquire);
  while (true) {
    seen[self] = old;
    if (old & 1) {
      std::this_thread::yield();
      old = word.load(std::memory_order_acquire);
    } else if (word.compare_exchange_weak(old, old + 1, std::memory_order_acquire)) {
      return;
    }
  }
}
static void unlock(int) { word.fetch_add(1, std::memory_order_release); }

#define KIND_LOCK
#include "harness.h"
