// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Guards and classes that take a spin lock, by what their members do.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

struct Latch {
  std::atomic<int> word{0};
  void lock() {
    while (word.exchange(1, std::memory_order_acquire))
      while (word.load(std::memory_order_relaxed))
        __builtin_ia32_pause();
  }
  void unlock() { word.store(0, std::memory_order_release); }
};

struct Scope {
  explicit Scope(Latch &l) : held(l) { held.lock(); }
  ~Scope() { held.unlock(); }
  Latch &held;
};

Latch latch;
std::mutex mutex;
std::vector<int> list;
int count;

void release(char *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'latch' while 'madvise' enters the kernel
  latch.lock();
  madvise(p, 4096, MADV_DONTNEED);
  latch.unlock();
}

void add(int n) {
  // CHECK: :[[@LINE+1]]:9: warning: holds 'latch' while 'push_back' allocates or releases memory
  Scope in(latch);
  list.push_back(n);
}

void addStd(int *p) {
  // CHECK: :[[@LINE+1]]:26: warning: holds 'latch' while 'delete' allocates or releases memory
  std::lock_guard<Latch> in(latch);
  delete p;
}

void nested() {
  // CHECK: :[[@LINE+1]]:9: warning: holds 'latch' while 'lock_guard' waits
  Scope in(latch);
  std::lock_guard<std::mutex> also(mutex);
  ++count;
}

// A lock that another unit waits for: only the name of its type says that it spins.
template <bool spins> struct RwLock {
  std::atomic<int> word{0};
  void wait();
  void wr_lock() {
    if (word.fetch_or(1))
      wait();
  }
  void wr_unlock() { word.fetch_and(~1); }
};
typedef RwLock<true> rw_spin_lock_low;
typedef RwLock<false> rw_lock_low;
struct PageLatch {
  rw_spin_lock_low low;
  void lock() { low.wr_lock(); }
  void unlock() { low.wr_unlock(); }
};
PageLatch page;
rw_lock_low sleeps;
void ofType(int *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'page' while 'delete' allocates or releases memory
  page.lock();
  delete p;
  page.unlock();
  sleeps.wr_lock(); // Not reported.
  delete p;
  sleeps.wr_unlock();
}

struct Name {
  Name() : text(nullptr) {}
  Name(const Name &other) {
    text = new char[8];
    text[0] = other.text[0];
  }
  char *text;
};
void copies(Name &from) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'latch' while the constructor of 'Name' allocates or releases memory
  latch.lock();
  Name copy = from;
  ++count;
  latch.unlock();
}

// A guard that its user must leave.
struct Region {
  explicit Region(Latch &l) : held(l) { held.lock(); }
  ~Region() {
    if (!left)
      abort();
  }
  void Leave() {
    held.unlock();
    left = true;
  }
  Latch &held;
  bool left = false;
};
int leaves(char *p, int *q) {
  // CHECK: :[[@LINE+1]]:10: warning: holds 'latch' while 'munmap' enters the kernel
  Region in(latch);
  if (!p) {
    in.Leave();
    delete q;
    return 0;
  }
  munmap(p, 4096);
  in.Leave();
  delete q;
  return 1;
}

// Not reported: the program ends after it.
void fails(int n) {
  Scope in(latch);
  if (n < 0) {
    write(2, "broken\n", 7);
    abort();
  }
  ++count;
}

// Not reported: a mutex.
void blocks(int n) {
  std::lock_guard<std::mutex> in(mutex);
  list.push_back(n);
}

// Not reported: the scope of the guard ends before, and it lets go early.
void outside(int n) {
  {
    Scope in(latch);
    ++count;
  }
  list.push_back(n);
  std::unique_lock<Latch> early(latch);
  ++count;
  early.unlock();
  list.push_back(n);
}

// Not reported: an exchange that takes nothing, and a lock-free push.
struct Node {
  Node *next;
};
std::atomic<Node *> top;
std::atomic<bool> asked;
void push() {
  Node *node = new Node;
  node->next = top.load();
  while (!top.compare_exchange_weak(node->next, node))
    ;
  if (asked.exchange(true))
    delete node;
}

// Taken in a lambda, not by the function around it.
template <typename F> void run(F f) { f(); }
void inLambda() {
  run([] {
    latch.lock();
    ++count;
    latch.unlock();
  });
  list.push_back(1);
}
