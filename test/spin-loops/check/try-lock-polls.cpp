// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bounded poll that gives up at once if another thread holds the mutex of the
// queue, and yields.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops,vfriendly-blocking-sync-sleep-poll' %s -- -std=c++17 2>&1 | FileCheck %s

#include <deque>
#include <mutex>
#include <thread>

struct Queue {
  std::mutex lock;
  std::deque<int> items;
  bool tryTake(int &item) {
    std::unique_lock<std::mutex> hold(lock, std::try_to_lock);
    if (!hold || items.empty())
      return false;
    item = items.front();
    items.pop_front();
    return true;
  }
};
bool take(Queue &queue, int &item) {
  bool taken = false;
  // CHECK: :[[@LINE+1]]:3: warning: loop
  for (int i = 0; i < 1000000 && !taken; i++) {
    taken = queue.tryTake(item);
    if (!taken)
      std::this_thread::yield();
  }
  return taken;
}
// Not reported: nothing gives way, so the count may be one of pieces of work.
bool takeAtOnce(Queue &queue, int &item) {
  bool taken = false;
  for (int i = 0; i < 1000000 && !taken; i++)
    taken = queue.tryTake(item);
  return taken;
}
