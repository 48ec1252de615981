// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Broadcasts to waiters whose loop has no condition: it tests for work and for its end by itself.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// RUN: cp %s %t.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast' --fix %t.cpp -- -std=c++17 2>&1 > /dev/null
// RUN: FileCheck %s --check-prefix=FIXED < %t.cpp

#include <condition_variable>
#include <deque>
#include <mutex>

// The waiter takes what is there before it looks for the end.
class Dispatch {
public:
  void enqueue(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    if (Stop)
      return;
    Items.push_back(Item);
    // CHECK: :[[@LINE+2]]:12: warning: wakes all threads that wait on 'Filled', but only one can proceed
    // FIXED: Filled.notify_one(); // dispatch
    Filled.notify_all(); // dispatch
  }
  void shutdown() {
    std::lock_guard<std::mutex> Lock(Mutex);
    Stop = true;
    Filled.notify_all();
  }
  void work() {
    std::unique_lock<std::mutex> Lock(Mutex);
    while (true) {
      while (!Items.empty()) {
        Done += Items.front();
        Items.pop_front();
      }
      if (Stop)
        break;
      Filled.wait(Lock);
    }
  }

private:
  std::mutex Mutex;
  std::condition_variable Filled;
  std::deque<int> Items;
  bool Stop = false;
  int Done = 0;
};

// The same with `continue` after the wait.
class Taker {
public:
  void put(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    // CHECK: :[[@LINE+2]]:12: warning: wakes all
    // FIXED: Filled.notify_one(); // taker
    Filled.notify_all(); // taker
  }
  void work() {
    std::unique_lock<std::mutex> Lock(Mutex);
    for (;;) {
      if (Items.empty()) {
        Filled.wait(Lock);
        continue;
      }
      Done += Items.front();
      Items.pop_front();
    }
  }

private:
  std::mutex Mutex;
  std::condition_variable Filled;
  std::deque<int> Items;
  int Done = 0;
};

// The woken thread may leave before it takes the item, and nobody else is
// awake: reported, but not changed.
class Leaver {
public:
  void put(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    // CHECK: :[[@LINE+2]]:12: warning: wakes all
    // FIXED: Filled.notify_all(); // leaver
    Filled.notify_all(); // leaver
  }
  void work() {
    std::unique_lock<std::mutex> Lock(Mutex);
    for (;;) {
      if (--Patience == 0)
        return;
      if (!Items.empty()) {
        Done += Items.front();
        Items.pop_front();
      }
      Filled.wait(Lock);
    }
  }

private:
  std::mutex Mutex;
  std::condition_variable Filled;
  std::deque<int> Items;
  int Done = 0, Patience = 100;
};

// Each waiter looks at the items and leaves them there: all have to see a new
// one.
class Readers {
public:
  void put(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    Filled.notify_all();
  }
  void work() {
    std::unique_lock<std::mutex> Lock(Mutex);
    for (;;) {
      while (!Items.empty() && Items.back() != Seen)
        Seen = Items.back();
      Filled.wait(Lock);
    }
  }

private:
  std::mutex Mutex;
  std::condition_variable Filled;
  std::deque<int> Items;
  int Seen = 0;
};
