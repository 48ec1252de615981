// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits of pools in classes and templates (pool-loops.c has those in C), written and labelled by
// somebody who did not know the rules. Check and pass agree; each kind has a loop that looks like it
// and is no wait.
//
// REQUIRES: host-x86_64
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// RUN: %vf_clangxx -std=c++17 -O2 -g -w -Rpass=vf-spin-loops -Rpass-missed=vf-spin-loops -c %s -o %t.o 2>&1 | grep remark: | sed 's/^[^ ]*pool-loops-classes.cpp:/at:/' | sort -t: -k2n > %t.remarks
// RUN: FileCheck %s --check-prefix=PASS --implicit-check-not='polls now' --input-file=%t.remarks

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <immintrin.h>
#include <mutex>
#include <queue>
#include <thread>

// The same in C++: a class whose member moves the task out only when there is one.
class Worker {
  struct alignas(64) Slot {
    std::atomic<void (*)(void *)> fn{nullptr};
    void *arg = nullptr;
  };
  Slot slot_;
  std::mutex mutex_;
  std::condition_variable wake_;
  static constexpr unsigned kSpin = 20000;
  bool tryAcquire(void (*&fn)(void *), void *&arg) {
    auto f = slot_.fn.load(std::memory_order_acquire);
    if (!f)
      return false;
    fn = f;
    arg = slot_.arg;
    slot_.fn.store(nullptr, std::memory_order_release);
    return true;
  }
public:
  void runOne();
};
void Worker::runOne() {
  void (*fn)(void *);
  void *arg;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  for (unsigned n = 0; n < kSpin; ++n) {
    if (tryAcquire(fn, arg)) {
      fn(arg);
      return;
    }
    _mm_pause();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait(lock, [&] { return tryAcquire(fn, arg); });
  lock.unlock();
  fn(arg);
}

struct Task { void (*fn)(void *); void *arg; };
class Deque { public: bool tryPopFront(Task &); };
bool popWait(Deque &own, Task &t, const unsigned limit) {
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}may do more than wait: it calls 'tryPopFront'
  for (unsigned i = 0; i != limit; i++) {
    if (own.tryPopFront(t))
      return true;
    __builtin_ia32_pause();
  }
  return false;
}

struct TicketLock {
  std::atomic<unsigned> next{0}, serving{0};
  static constexpr int kSpins = 4096;
  void lock() {
    const unsigned mine = next.fetch_add(1, std::memory_order_relaxed);
    int left = kSpins;
    // CHECK: :[[@LINE+2]]:5: warning: loop
    // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
    while (serving.load(std::memory_order_acquire) != mine) {
      if (--left == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        left = kSpins;
      } else {
        _mm_pause();
      }
    }
  }
  void unlock() { serving.store(serving.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
};
void with(TicketLock &l, int *x) { l.lock(); ++*x; l.unlock(); }

class Channel {
  std::mutex m_;
  std::queue<int> items_;
public:
  int get() {
    // CHECK: :[[@LINE+2]]:5: warning: loop
    // PASS: at:[[#@LINE+1]]:{{.*}}left as it is
    for (;;) {
      {
        std::lock_guard<std::mutex> g(m_);
        if (!items_.empty()) {
          int v = items_.front();
          items_.pop();
          return v;
        }
      }
      std::this_thread::yield();
    }
  }
};
int get(Channel &c) { return c.get(); }

using Clock = std::chrono::steady_clock;
bool waitFor(const std::atomic<bool> &flag, Clock::duration limit) {
  const auto until = Clock::now() + limit;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}gives up at the same time
  while (!flag.load(std::memory_order_acquire)) {
    if (Clock::now() >= until)
      return false;
    _mm_pause();
  }
  return true;
}

struct Snapshot { unsigned version; bool valid; };
class Source {
  std::atomic<unsigned> version_{0};
public:
  Snapshot get() const { unsigned v = version_.load(std::memory_order_acquire); return {v, (v & 1) == 0}; }
};
unsigned stable(const Source &s) {
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  for (;;) {
    const Snapshot snap = s.get();
    if (snap.valid)
      return snap.version;
    std::this_thread::yield();
  }
}

// Back-off functors.
class Backoff {
  int count_ = 1;
public:
  void pause() {
    if (count_ <= 16) {
      for (int i = 0; i < count_; i++) __builtin_ia32_pause();
      count_ *= 2;
    } else {
      std::this_thread::yield();
    }
  }
  void reset() { count_ = 1; }
};
template <class B> void lockWith(std::atomic_flag &f, B &b) {
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (f.test_and_set(std::memory_order_acquire))
    b.pause();
}
void lockRef(std::atomic_flag &f, Backoff &b) { lockWith(f, b); }
void lockOwn(std::atomic_flag &f) { Backoff b; lockWith(f, b); }
template <class Pred> void spinUntil(Pred &&p) {
  Backoff b;
  // CHECK: :[[@LINE+2]]:3: warning: loop
  // PASS: at:[[#@LINE+1]]:{{.*}}now wait in the runtime
  while (!p())
    b.pause();
}
void waitZero(const std::atomic<int> &n) { spinUntil([&] { return n.load(std::memory_order_acquire) == 0; }); }
// Twin: what it calls runs others' tasks.
struct Helper { std::function<bool()> runOne; void operator()() { runOne(); } };
void waitHelping(const std::atomic<int> &n, Helper &h) {
  while (n.load(std::memory_order_acquire) != 0)
    h();
}
