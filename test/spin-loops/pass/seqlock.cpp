// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A seqlock's reader waits while a write is under way (odd version), and reads
// again if one came in between.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>

struct SeqLock {
  std::atomic<unsigned> Version{0};
  std::atomic<int> Value{0};

  int read() const {
    for (;;) { // expected-remark-re {{(seqlock reader) on atomic memory {{.*}}give the CPU's spin hint, and nothing else: a seqlock's reader waits only until a write has ended}}
      unsigned Before = Version.load(std::memory_order_acquire);
      if (Before & 1)
        continue;
      int V = Value.load(std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (Version.load(std::memory_order_relaxed) == Before)
        return V;
    }
  }
  void write(int V) {
    Version.fetch_add(1, std::memory_order_acquire);
    Value.store(V, std::memory_order_relaxed);
    Version.fetch_add(1, std::memory_order_release);
  }
};

int use(SeqLock &S) {
  S.write(1);
  return S.read();
}

// Why not: two reads that differ are read again, and nobody is waited for.
int not_reread(std::atomic<long> &hi, std::atomic<int> &lo) {
  long h;
  int l;
  do { // expected-remark {{(lock-free retry) on atomic memory}}
    h = hi.load();
    l = lo.load();
  } while (hi.load() != h);
  return l;
}
