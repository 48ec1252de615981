// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock that hands out numbers: each waiter polls until its number is called.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>

class TicketLock {
  std::atomic<unsigned short> Next{0}, Serving{0};

public:
  void lock() {
    auto Mine = Next.fetch_add(1, std::memory_order_relaxed);
    // expected-remark-re@+1 {{(ticket lock) on atomic memory {{.*}}wait in the runtime [}}
    while (Serving.load(std::memory_order_acquire) != Mine) {}
  }
  void unlock() {
    Serving.store(Serving.load(std::memory_order_relaxed) + 1,
                  std::memory_order_release);
  }
};

void use(TicketLock &L, int &data) {
  L.lock();
  ++data;
  L.unlock();
}

// Why not: it draws a number each time round.
void not_drawing(std::atomic<int> &next, int goal) {
  while (next++ != goal) {}
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
