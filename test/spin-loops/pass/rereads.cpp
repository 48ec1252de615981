// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that reads the word again in one branch, and has it from a failed exchange in another:
// what the next iteration tests is the word in any case. The hint may be given by a function that
// the loop calls.
//
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <cstdint>
#include <thread>
#include <time.h>

struct Sleeper {
  unsigned polls = 0;
  void once() {
    if (polls < 4000) {
      ++polls;
      __builtin_ia32_pause();
    } else {
      timespec nap = {0, 500000};
      nanosleep(&nap, nullptr);
    }
  }
};

// A lock bit, and a bit that ends all.
bool lock_unless_done(std::atomic<uint64_t> &state) {
  Sleeper sleeper;
  uint64_t old = state.load(std::memory_order_acquire);
  // expected-remark@+2 {{it sleeps after many polls}}
  // CHECK: :[[@LINE+1]]:3: warning{{:}} loop spins on a test-and-test-and-set lock
  while (true) {
    if (old & 1)
      return false;
    if (old & 2) {
      sleeper.once();
      old = state.load(std::memory_order_acquire);
    } else if (state.compare_exchange_weak(old, old | 3)) {
      return true;
    }
  }
}

// A count of users that is full.
bool count_in(std::atomic<uint64_t> &users) {
  uint64_t old = users.load(std::memory_order_acquire);
  // expected-remark@+3 {{(test-and-test-and-set)}}
  // expected-remark@+2 {{link with libvfrt}}
  // CHECK: :[[@LINE+1]]:3: warning{{:}} loop spins on a test-and-test-and-set lock
  while (true) {
    if (old == 0)
      return false;
    if (old > 8191) {
      std::this_thread::yield();
      old = users.load(std::memory_order_acquire);
    } else if (users.compare_exchange_weak(old, old + 1)) {
      return true;
    }
  }
}

struct Node {
  std::atomic<uintptr_t> next;
};
// While the list is locked, the loop waits; when it is not, it writes the node first.
void push(std::atomic<uintptr_t> &list, Node &node) {
  Sleeper sleeper;
  // expected-remark@+4 {{it now yields where threads share CPUs}}
  // expected-remark@+3 {{at most as long as the loop would spin}}
  // expected-remark@+2 {{link with libvfrt}}
  // CHECK: :[[@LINE+1]]:3: warning{{:}} loop spins on atomic 'list', many times before it does more
  while (true) {
    uintptr_t first = list.load(std::memory_order_acquire);
    if ((first & 1) == 0) {
      node.next.store(first, std::memory_order_release);
      if (list.compare_exchange_weak(first, (uintptr_t)&node))
        break;
    } else {
      sleeper.once();
    }
  }
}

// Twin: the words differ, and a counter says which one is tested.
bool either(std::atomic<int> &a, std::atomic<int> &b) {
  int seen = 0;
  for (int n = 0; seen != 1; ++n) {
    if (n > 1000)
      return false;
    if (n & 1)
      seen = a.load();
    else
      seen = b.load();
  }
  return true;
}
// Twin: what was read says where the loop reads next.
struct Cell {
  std::atomic<long> sequence;
  int data;
};
bool dequeue(std::atomic<long> &next, Cell (&cells)[64], int &out) {
  long place = next.load(std::memory_order_relaxed);
  for (;;) {
    Cell &cell = cells[place & 63];
    long ahead = cell.sequence.load(std::memory_order_acquire) - (place + 1);
    if (ahead < 0)
      return false;
    if (ahead == 0) {
      if (next.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) {
        out = cell.data;
        return true;
      }
    } else {
      place = next.load(std::memory_order_relaxed);
    }
  }
}
