// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals with the mutex held that are sent seldom, or must be sent so.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-signal-locked' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <condition_variable>
#include <deque>
#include <mutex>

class Queue {
  std::mutex Lock;
  std::condition_variable More;
  std::deque<int> Items;
  int Users = 0, Waiters = 0;

public:
  // Only if it was empty.
  void putFirst(int x) {
    std::lock_guard<std::mutex> held(Lock);
    if (Items.empty())
      More.notify_one();
    Items.push_back(x);
  }
  void putFirstToo(int x) {
    std::lock_guard<std::mutex> held(Lock);
    bool first = Items.empty();
    Items.push_back(x);
    if (first)
      More.notify_one();
  }
  void drop() {
    std::lock_guard<std::mutex> held(Lock);
    Users--;
    if (Users <= 0)
      More.notify_one();
  }
  void release() {
    std::lock_guard<std::mutex> held(Lock);
    if (--Users == 0)
      More.notify_one();
  }
  // Whether somebody waits says nothing about how often.
  void put(int x) {
    std::lock_guard<std::mutex> held(Lock);
    Items.push_back(x);
    if (Waiters > 0)
      // CHECK: :[[@LINE+1]]:12: warning: wakes a thread that needs 'Lock', still held
      More.notify_one();
  }
  // Nor does it say that there is room.
  bool tryPut(int x) {
    std::lock_guard<std::mutex> held(Lock);
    if (Users < 100) {
      ++Users;
      Items.push_back(x);
      // CHECK: :[[@LINE+1]]:12: warning: wakes a thread that needs 'Lock', still held
      More.notify_one();
      return true;
    }
    return false;
  }
  int take() {
    std::unique_lock<std::mutex> held(Lock);
    while (Items.empty()) {
      ++Waiters;
      More.wait(held);
      --Waiters;
    }
    int x = Items.front();
    Items.pop_front();
    return x;
  }
};
void all(Queue &q) {
  q.putFirst(1);
  q.putFirstToo(2);
  q.put(3);
  q.tryPut(4);
  q.take();
  q.drop();
  q.release();
}

// On the waiter's stack: it may be gone once the mutex is free.
struct Request {
  std::condition_variable Done;
  bool Is = false;
};
std::mutex requests;
std::deque<Request *> pending;
int served;
void ask() {
  Request mine;
  std::unique_lock<std::mutex> held(requests);
  pending.push_back(&mine);
  while (!mine.Is)
    mine.Done.wait(held);
}
void answer() {
  std::lock_guard<std::mutex> held(requests);
  Request *first = pending.front();
  pending.pop_front();
  first->Is = true;
  ++served;
  first->Done.notify_one();
}
