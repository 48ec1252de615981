// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lock is read until it looks free, and only then tried.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>

class Nested {
  std::atomic<bool> Locked{false};

public:
  void lock() {
    for (;;) { // expected-remark-re {{(test-and-test-and-set) {{.*}}left as it is: the loop inside it waits for the same lock}}
      if (!Locked.exchange(true, std::memory_order_acquire))
        return;
      // expected-remark-re@+1 {{(flag poll) on atomic memory {{.*}}wait in the runtime [}}
      while (Locked.load(std::memory_order_relaxed)) {}
    }
  }
  void unlock() { Locked.store(false, std::memory_order_release); }
};

class Joined {
  std::atomic<int> Locked{0};

public:
  void lock() {
    // expected-remark-re@+1 {{(test-and-test-and-set) on {{.*}}atomic memory {{.*}}wait in the runtime [}}
    while (Locked.load(std::memory_order_relaxed) ||
           Locked.exchange(1, std::memory_order_acquire)) {}
  }
  void unlock() { Locked.store(0, std::memory_order_release); }
};

int use(Nested &N, Joined &J, int &data) {
  N.lock();
  ++data;
  N.unlock();
  J.lock();
  ++data;
  J.unlock();
  return data;
}

// Why not: the loop around has work to do once it has got the lock.
void not_worker(Nested &N, std::atomic<int> &stop, int *work) {
  while (!stop.load()) {
    ++*work;
    N.unlock();
  }
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
