// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lock of the C++20 proposal of std::atomic::wait: free, held, held with sleepers

#include <atomic>

struct Lock {
  std::atomic<int> word = 0;
  void lock() {
    int seen = 0;
    if (word.compare_exchange_strong(seen, 1, std::memory_order_acquire))
      return;
    while (word.exchange(2, std::memory_order_acquire) != 0)
      word.wait(2, std::memory_order_relaxed);
  }
  void unlock() {
    if (word.exchange(0, std::memory_order_release) == 2)
      word.notify_one();
  }
};
