// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits of pools that the judge sees only once ways through an iteration are told apart: several
// tests lead to the branch that blocks, a retry begins again out of an inner loop, a result is
// returned in a part of a register.
//
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

using Clock = std::chrono::steady_clock;
void work();

//===--- Several tests lead to the branch that blocks ---------------------===//

struct Ring {
  std::atomic<unsigned> head, tail;
  int slots[256];
  std::mutex m;
  std::condition_variable filled;
};
inline bool take(Ring &r, int &out) {
  unsigned h = r.head.load(std::memory_order_acquire);
  if (h == r.tail.load(std::memory_order_acquire))
    return false;
  if (!r.head.compare_exchange_strong(h, h + 1))
    return false;
  out = r.slots[h % 256];
  return true;
}
int take_or_block(Ring &r, Clock::time_point end) {
  int out;
  unsigned left = 100000;
  // expected-remark@+2 {{left as it is: its bound was chosen for iterations without a spin hint}}
  // CHECK: :[[@LINE+1]]:3: warning{{:}} loop spins on {{.*}}, many times before it does more
  while (!take(r, out)) {
    if (left > 0 && Clock::now() < end) {
      --left;
      std::this_thread::yield();
    } else {
      std::unique_lock<std::mutex> held(r.m);
      r.filled.wait(held);
      left = 100000;
    }
  }
  return out;
}
// Why not: other threads decide in each iteration whether it works.
std::atomic<bool> busy;
void take_or_work(Ring &r, unsigned left) {
  int out;
  while (!take(r, out)) {
    if (left > 0 && !busy.load()) {
      --left;
      work();
    } else {
      work();
      left = 100;
    }
  }
}

//===--- A retry begins again out of an inner loop ------------------------===//

struct Bucket {
  std::atomic<unsigned> state; // A version above two bits.
  std::atomic<int> keys[4];
  std::atomic<int> values[4];
};
std::optional<int> find(Bucket &b, int key) {
retry:
  // expected-remark@+1 {{(lock-free retry)}}
  unsigned state = b.state.load(std::memory_order_acquire);
  for (unsigned i = 0; i != (state & 3); ++i)
    if (b.keys[i].load(std::memory_order_relaxed) == key) {
      int value = b.values[i].load(std::memory_order_acquire);
      if (state >> 2 != b.state.load(std::memory_order_relaxed) >> 2)
        goto retry;
      return value;
    }
  return std::nullopt;
}
// Twin: it waits until the writer has cleared the lowest bit.
int read(Bucket &b) {
  unsigned state;
  // CHECK: :[[@LINE+3]]:3: warning{{:}} loop spins
  // expected-remark@+2 {{now wait in the runtime}}
  // expected-remark@+1 {{link with libvfrt}}
  while ((state = b.state.load(std::memory_order_acquire)) & 1)
    ;
  return b.values[state >> 2 & 3].load(std::memory_order_relaxed);
}

//===--- The way back of a `continue` out of a scope ----------------------===//

// The limit has grown when it goes on.
bool may_wake(std::atomic<unsigned> &idle, std::atomic<unsigned> &woken) {
  unsigned most = idle.load();
  unsigned now = woken.load(std::memory_order_acquire);
  for (;;) {
    if (now >= most) {
      // expected-remark@+1 {{(lock-free retry)}}
      unsigned fresh = idle.load(std::memory_order_relaxed);
      if (fresh <= most)
        return false;
      most = fresh;
      continue;
    }
    if (woken.compare_exchange_weak(now, now + 1))
      return true;
  }
}
// Twin: it waits until the limit has grown.
void wait_and_wake(std::atomic<unsigned> &idle, std::atomic<unsigned> &woken) {
  unsigned now = woken.load(std::memory_order_acquire);
  // CHECK: :[[@LINE+2]]:3: warning{{:}} loop spins
  // expected-remark@+1 {{now wait in the runtime}}
  for (;;) {
    unsigned most = idle.load();
    if (now >= most) {
      unsigned seen = woken.load();
      now = seen;
      continue;
    }
    if (woken.compare_exchange_weak(now, now + 1))
      return;
  }
}

// What it does once it has the lock is not an effect of each iteration.
struct Bits {
  unsigned bits;
  bool locked() const { return bits & 1; }
  Bits lock() const { return {bits | 1}; }
};
struct NoBackOff {
  void operator()() {}
};
struct Iterator {
  Bits held;
};
void advance(Iterator &at, std::atomic<Bits> *begin, std::atomic<Bits> *end) {
  for (std::atomic<Bits> *bucket = begin; bucket != end; ++bucket) {
    NoBackOff back_off;
    // CHECK: :[[@LINE+1]]:5: warning{{:}} loop spins on a test-and-test-and-set lock
    for (;;) {
      // expected-remark@+1 {{now wait in the runtime}}
      Bits b = bucket->load(std::memory_order_relaxed);
      if (b.locked())
        continue;
      if (bucket->compare_exchange_strong(b, b.lock(), std::memory_order_acquire)) {
        at.held = b;
        break;
      }
      back_off();
    }
  }
}

//===--- A result in a part of a register ---------------------------------===//

struct Queue {
  std::atomic<unsigned> head, tail;
  int slots[256];
  std::optional<int> pop() {
    unsigned h = head.load(std::memory_order_relaxed);
    if (h == tail.load(std::memory_order_acquire))
      return std::nullopt;
    int x = slots[h % 256];
    head.store(h + 1, std::memory_order_release);
    return x;
  }
};
int pop(Queue &q) {
  // CHECK: :[[@LINE+3]]:3: warning{{:}} loop spins on atomic {{.*}} and yields
  // expected-remark@+2 {{now wait in the runtime}}
  // expected-remark@+1 {{link with libvfrt}}
  for (;;) {
    if (auto x = q.pop())
      return *x;
    std::this_thread::yield();
  }
}
// Why not: it goes on with each element.
void drain(Queue &q) {
  while (auto x = q.pop())
    work();
}
