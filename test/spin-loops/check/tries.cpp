// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A failed try is a poll: of a queue, or of a variable with a lock held.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <mutex>
#include <thread>

struct Worker {
  std::atomic<int> generation{0};
  std::atomic<bool> stop{false};
  int last = 0;
  bool pending = false;
  bool ready() {
    if (pending || stop)
      return true;
    int now = generation.load(std::memory_order_relaxed);
    if (now == last)
      return false;
    pending = true;
    last = now;
    return true;
  }
};
void poll_for_work(Worker &w, long polls) {
  // CHECK: :[[@LINE+1]]:3: warning: loop
  for (long i = 0; !w.ready() && i < polls; i++)
    std::this_thread::yield();
}
int locked(std::mutex &m, int &count) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'count' and yields between polls; spin then block; each iteration takes and releases a lock
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(m);
      if (count > 0)
        return --count;
    }
    std::this_thread::yield();
  }
}
// Not this: it works with the lock held.
void step(int);
int not_working(std::mutex &m, int &count, std::atomic<bool> &stop) {
  while (!stop) {
    {
      std::lock_guard<std::mutex> lock(m);
      step(count++);
    }
    std::this_thread::yield();
  }
  return count;
}
