// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bug: the check takes the retry of a bounded queue for a lock. Each failed iteration means that
// another thread has taken a place, so the loop does not wait; within a loop that waits, the pass
// takes the retry for a wait, too.
//
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | FileCheck %s --allow-empty --implicit-check-not=warning:

#include <atomic>
#include <cstddef>
#include <cstdint>

struct Cell {
  std::atomic<size_t> sequence;
  int data;
};
struct Queue {
  Cell cells[1024];
  std::atomic<size_t> next{0};
};
bool dequeue(Queue &q, int &out) {
  size_t place = q.next.load(std::memory_order_relaxed);
  for (;;) {
    Cell &cell = q.cells[place & 1023];
    size_t sequence = cell.sequence.load(std::memory_order_acquire);
    intptr_t ahead = (intptr_t)sequence - (intptr_t)(place + 1);
    if (ahead == 0) {
      if (q.next.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) {
        out = cell.data;
        cell.sequence.store(place + 1024, std::memory_order_release);
        return true;
      }
    } else if (ahead < 0) {
      return false;
    } else {
      place = q.next.load(std::memory_order_relaxed);
    }
  }
}
