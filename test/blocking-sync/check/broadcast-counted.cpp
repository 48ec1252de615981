// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Broadcasts of pools that count their idle threads, and workers that wait in an endless loop.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <queue>

class Pool {
  std::mutex m;
  std::condition_variable cv;
  std::queue<std::function<void()>> tasks;
  int idle = 0;

public:
  void submit(std::function<void()> f) {
    std::unique_lock<std::mutex> l(m);
    tasks.push(std::move(f));
    if (idle > 0)
      // CHECK: :[[@LINE+1]]:10: warning: wakes all threads that wait on 'cv'
      cv.notify_all();
  }
  void worker() {
    for (;;) {
      std::function<void()> f;
      {
        std::unique_lock<std::mutex> l(m);
        ++idle;
        cv.wait(l, [this] { return !tasks.empty(); });
        --idle;
        f = std::move(tasks.front());
        tasks.pop();
      }
      f();
    }
  }
};

class Channel {
  std::mutex lock_;
  std::condition_variable nonempty_;
  std::deque<int> buffer_;
  size_t waiting_ = 0;

public:
  void send(int v) {
    {
      std::lock_guard<std::mutex> g(lock_);
      buffer_.push_back(v);
      if (waiting_ == 0)
        return;
    }
    // CHECK: :[[@LINE+1]]:15: warning: wakes all threads that wait on 'nonempty_'
    nonempty_.notify_all();
  }
  int receive() {
    std::unique_lock<std::mutex> g(lock_);
    while (buffer_.empty()) {
      waiting_++;
      nonempty_.wait(g);
      waiting_--;
    }
    int v = buffer_.front();
    buffer_.pop_front();
    return v;
  }
};

class Tokens {
  std::mutex m;
  std::condition_variable c;
  int n = 0, sleepers = 0;

public:
  void give() {
    std::lock_guard<std::mutex> g(m);
    ++n;
    if (sleepers)
      // CHECK: :[[@LINE+1]]:9: warning: wakes all threads that wait on 'c'
      c.notify_all();
  }
  void take() {
    std::unique_lock<std::mutex> g(m);
    ++sleepers;
    while (n < 1)
      c.wait(g);
    --sleepers;
    --n;
  }
};

// All workers see each item, so one wake-up is not enough.
class Viewers {
  std::mutex m;
  std::condition_variable cv;
  std::deque<int> items;
  int idle = 0;

public:
  void add(int i) {
    std::unique_lock<std::mutex> l(m);
    items.push_back(i);
    if (idle > 0)
      cv.notify_all();
  }
  void view(bool mine) {
    for (;;) {
      std::unique_lock<std::mutex> l(m);
      ++idle;
      cv.wait(l, [this] { return !items.empty(); });
      --idle;
      if (mine)
        items.pop_front();
    }
  }
};

// The loop is the author's own: the worker takes an item before it waits again, and none after.
class Late {
  std::mutex m;
  std::condition_variable cv;
  std::deque<int> items;

public:
  void add(int i) {
    std::lock_guard<std::mutex> l(m);
    items.push_back(i);
    cv.notify_all();
  }
  void watch() {
    std::unique_lock<std::mutex> l(m);
    while (items.empty()) {
      cv.wait(l);
      if (!items.empty())
        items.pop_front();
    }
  }
};
