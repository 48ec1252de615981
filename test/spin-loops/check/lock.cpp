// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Locks of std::atomic and std::atomic_flag, and lock-free updates beside them.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <mutex>
#include <thread>

class SpinLock {
  std::atomic_flag flag = ATOMIC_FLAG_INIT;
  std::atomic<bool> held{false};
  std::atomic<int> word{0};

public:
  void byFlag() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a try-lock, test-and-set of atomic 'flag'
    while (flag.test_and_set(std::memory_order_acquire))
      ;
  }
  void byExchange() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a try-lock, exchange of atomic 'held' and yields between polls
    while (held.exchange(true))
      std::this_thread::yield();
  }
  void byCompare() {
    int expected = 0;
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a try-lock, compare-and-swap of atomic 'word'
    while (!word.compare_exchange_weak(expected, 1, std::memory_order_acquire))
      expected = 0;
  }
  void byCompareInside() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a try-lock, compare-and-swap of atomic 'word'
    for (;;) {
      int expected = 0;
      if (word.compare_exchange_strong(expected, 1))
        return;
      __builtin_ia32_pause();
    }
  }
  void testFirst() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a test-and-test-and-set lock, exchange of atomic 'held'
    while (held.exchange(true, std::memory_order_acquire))
      // CHECK: :[[@LINE+1]]:7: warning: loop spins on atomic 'held'
      while (held.load(std::memory_order_relaxed))
        __builtin_ia32_pause();
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a test-and-test-and-set lock, exchange of atomic 'held'
    while (held.load() || held.exchange(true))
      ;
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a test-and-test-and-set lock, exchange of atomic 'held'
    for (;;) {
      if (held.load(std::memory_order_relaxed)) {
        __builtin_ia32_pause();
        continue;
      }
      if (!held.exchange(true))
        break;
    }
  }
  bool tryLock() { return !held.exchange(true); }
  bool try_lock();
  void lock() {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a try-lock, exchange of atomic 'held'
    while (!tryLock())
      ;
  }
  void goto_lock() {
  retry:
    // CHECK: :[[@LINE+2]]:7: warning: loop spins on a try-lock, test-and-set of atomic 'flag'
    if (flag.test_and_set())
      goto retry;
  }
};

void library(SpinLock &l, std::mutex &m, std::unique_lock<std::mutex> &u) {
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'try_lock'
  while (!l.try_lock())
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'try_lock'
  while (!m.try_lock())
    std::this_thread::yield();
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'try_lock'
  do {
  } while (!u.try_lock());
}

class TicketLock {
  std::atomic<unsigned> next{0}, serving{0};

public:
  void lock() {
    auto mine = next.fetch_add(1);
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a ticket lock, atomic 'serving'
    while (serving.load(std::memory_order_acquire) != mine)
      ;
  }
  void lockByOperator() {
    const unsigned mine = next++;
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a ticket lock, atomic 'serving'
    while (serving != mine)
      ;
  }
};

struct Node {
  std::atomic<Node *> next{nullptr};
  std::atomic<bool> waiting{true};
};
void queueLock(std::atomic<Node *> &tail, Node *me) {
  if (Node *before = tail.exchange(me)) {
    before->next = me;
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a queue node, atomic 'me->waiting'
    while (me->waiting)
      ;
  }
}
void queueUnlock(std::atomic<Node *> &tail, Node *me) {
  Node *next;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a queue node, atomic 'me->next'
  while (!(next = me->next.load()))
    ;
  next->waiting = false;
}

class Barrier {
  std::atomic<int> left{4}, generation{0};

public:
  void arrive() {
    int before = generation;
    if (left.fetch_sub(1) == 1) {
      left = 4;
      generation++;
      return;
    }
    // CHECK: :[[@LINE+1]]:5: warning: loop spins at a barrier on atomic 'generation'
    while (generation == before)
      ;
  }
};

//===--- Not waits --------------------------------------------------------===//

// The failed swap itself brings the new expected value: it can succeed at once.
void add(std::atomic<double> &sum, double d) {
  double old = sum;
  while (!sum.compare_exchange_weak(old, old + d))
    ;
}
void maximum(std::atomic<int> &top, int value) {
  int old = top;
  while (old < value && !top.compare_exchange_weak(old, value))
    ;
}
void push(std::atomic<Node *> &head, Node *n) {
  Node *old = head.load();
  do {
    n->next = old;
  } while (!head.compare_exchange_weak(old, n));
}
// Steals work: the exchange takes something and the body uses it.
void consume(int);
void drain(std::atomic<int> &slot) {
  while (int got = slot.exchange(0))
    consume(got);
}
// Trying is part of some work that goes on.
void helps(std::atomic<bool> &stop, std::atomic<int> &slot) {
  while (!stop)
    slot.exchange(1);
}
