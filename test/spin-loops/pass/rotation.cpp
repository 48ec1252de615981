// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A try that rotates over several queues and gives a hint in each iteration is a wait, in doubt: there
// is no one word to wait for. One without a hint that a flag ends is in doubt for the check, and yields after
// the pass. Check and pass agree on each loop.
//
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <optional>
#include <thread>

struct Ring {
  std::atomic<unsigned> head{0}, tail{0};
  int slot[256];
  std::optional<int> take() {
    unsigned t = tail.load(std::memory_order_relaxed);
    if (t == head.load(std::memory_order_acquire))
      return std::nullopt;
    int x = slot[t % 256];
    tail.store(t + 1, std::memory_order_release);
    return x;
  }
  bool empty() const { return tail.load() == head.load(); }
};
std::atomic<bool> stop;
void end() { stop = true; }

int steal(Ring *rings, unsigned n, unsigned me) {
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}it polls several words in turn
  // expected-remark@+1 {{it polls several words in turn}}
  for (unsigned v = me;; v = (v + 1) % n) {
    if (auto t = rings[v].take())
      return *t;
    std::this_thread::yield();
  }
}
// A mask instead of a remainder.
unsigned find(Ring *rings, unsigned mask) {
  unsigned v = 0;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}it polls several words in turn
  // expected-remark@+1 {{it polls several words in turn}}
  while (rings[v].empty()) {
    v = (v + 1) & mask;
    __builtin_ia32_pause();
  }
  return v;
}
// Up to a number of tries, then it blocks.
int poll(std::atomic<int> *slots, unsigned n) {
  unsigned v = 0;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}it polls several words in turn
  // expected-remark@+1 {{it polls several words in turn}}
  for (int i = 0; i < 100000; i++) {
    if (slots[v].load())
      return v;
    v = (v + 1) % n;
    std::this_thread::yield();
  }
  return -1;
}

// By a reset.
unsigned find_by_reset(Ring *rings, unsigned n) {
  unsigned v = 0;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}it polls several words in turn
  // expected-remark@+1 {{it polls several words in turn}}
  while (rings[v].empty()) {
    if (++v == n)
      v = 0;
    std::this_thread::yield();
  }
  return v;
}
unsigned find_from_start(std::atomic<int> *slots, unsigned n) {
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}it polls several words in turn
  // expected-remark@+1 {{it polls several words in turn}}
  for (unsigned v = 0;; v = v + 1 < n ? v + 1 : 0) {
    if (slots[v].load())
      return v;
    __builtin_ia32_pause();
  }
}
// Until the pool ends: a sleep on `stop` would delay what is found in a slot.
int work(std::atomic<int> *slots, unsigned n) {
  unsigned v = 0;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'stop' {{.*}}it polls several words in turn
  // expected-remark@+1 {{it polls several words in turn}}
  while (!stop.load()) {
    if (slots[v].load())
      return v;
    v = (v + 1) % n;
    std::this_thread::yield();
  }
  return -1;
}
int work_by_reset(std::atomic<int> *slots, unsigned n) {
  unsigned v = 0;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'stop' {{.*}}it polls several words in turn
  // expected-remark@+1 {{it polls several words in turn}}
  while (!stop.load()) {
    if (slots[v].load())
      return v;
    if (++v == n)
      v = 0;
    std::this_thread::yield();
  }
  return -1;
}
int work_unhinted(std::atomic<int> *slots, unsigned n) {
  unsigned v = 0;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'stop'{{.*}}it polls several words in turn
  // expected-remark@+1 {{never sleep, as the loop polls several words in turn}}
  while (!stop.load()) {
    if (slots[v].load())
      return v;
    v = (v + 1) % n;
  }
  return -1;
}
// Twin: one queue.
int work_alone(std::atomic<int> *slots, unsigned v) {
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'stop': the vCPU is wasted
  // expected-remark@+1 {{wait in the runtime}}
  while (!stop.load())
    if (slots[v].load())
      return v;
  return -1;
}
// Twin: looks into each queue once.
int once_by_reset(std::atomic<int> *slots, unsigned n, unsigned me) {
  unsigned v = me;
  do {
    if (slots[v].load())
      return v;
    if (++v == n)
      v = 0;
    std::this_thread::yield();
  } while (v != me);
  return -1;
}

// Twin: without a hint it is a search, as in a hash table.
unsigned probe(Ring *rings, unsigned n) {
  unsigned v = 0;
  while (rings[v].empty())
    v = (v + 1) % n;
  return v;
}
// Twin: looks into each queue once.
int once(std::atomic<int> *slots, unsigned n, unsigned me) {
  unsigned v = me;
  do {
    if (slots[v].load())
      return v;
    v = (v + 1) % n;
    std::this_thread::yield();
  } while (v != me);
  return -1;
}
// Twin: one after the other, and not again.
int each(std::atomic<int> *slots) {
  for (unsigned v = 0;; v++) {
    if (slots[v].load())
      return v;
    std::this_thread::yield();
  }
}
// Twin: a list whose pointers have a tag bit.
struct Node {
  std::atomic<unsigned long> next;
  std::atomic<int> ready;
};
Node *follow(Node *n) {
  while (!n->ready.load()) {
    n = (Node *)(n->next.load() & ~1ul);
    __builtin_ia32_pause();
  }
  return n;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}

// A queue chosen at random; the generator's state is in a register.
int from_any(std::atomic<int> *slots, unsigned n, unsigned random) {
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'stop' {{.*}}it polls several words in turn
  // expected-remark@+1 {{it polls several words in turn}}
  while (!stop.load()) {
    random ^= random << 13, random ^= random >> 17, random ^= random << 5;
    if (int x = slots[random % n].load())
      return x;
    std::this_thread::yield();
  }
  return 0;
}
// Why not: each iteration looks at other memory, as far as the address says.
int from_all(std::atomic<int> *slots, unsigned long step) {
  while (!stop.load()) {
    slots += step;
    if (int x = slots->load())
      return x;
    std::this_thread::yield();
  }
  return 0;
}
