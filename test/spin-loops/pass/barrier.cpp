// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers: a thread counts itself in and polls until all have come.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>

class SenseBarrier {
  const int Threads;
  std::atomic<int> Missing;
  std::atomic<bool> Sense{false};

public:
  explicit SenseBarrier(int N) : Threads(N), Missing(N) {}
  void wait(bool &Mine) {
    Mine = !Mine;
    if (--Missing == 0) {
      Missing = Threads;
      Sense = Mine;
    } else {
      // expected-remark-re@+1 {{(barrier) on atomic memory {{.*}}wait in the runtime [}}
      while (Sense.load(std::memory_order_acquire) != Mine) {}
    }
  }
};

void use(SenseBarrier &B, bool &Mine) { B.wait(Mine); }

std::atomic<int> arrived;
void counting(int n) {
  ++arrived;
  // expected-remark-re@+1 {{(barrier) on atomic 'arrived' {{.*}}wait in the runtime [}}
  while (arrived.load() != n) {}
}

// Why not: work is shared out by the counter.
int not_shared_work(const int *work, int n) {
  int sum = 0;
  for (int i; (i = arrived++) < n;)
    sum += work[i];
  return sum;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
