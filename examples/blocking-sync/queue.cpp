// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A service: front-end threads hand requests to a queue, workers take them out, count
// words and note the result in a table. More threads than CPUs, short sections.
//
//   queue [THREADS-OF-EACH [REQUESTS-OF-EACH]]
//
// The lock is std::mutex with std::condition_variable; with -DUSE_VFRIENDLY it is
// vf::mutex with vf_cond behind the same names. Nothing else changes.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#ifdef USE_VFRIENDLY
#include "vfriendly/cond.h"
#include "vfriendly/sync.hpp"

using Mutex = vf::mutex;

class Condition {
public:
  template <class Predicate>
  void wait(std::unique_lock<Mutex> &Held, Predicate Done) {
    while (!Done())
      vf_cond_wait(&Native, Held.mutex()->native_handle());
  }
  void notify_one() { vf_cond_signal(&Native); }

private:
  vf_cond Native = VF_COND_INIT;
};
#else
#include <condition_variable>

using Mutex = std::mutex;
using Condition = std::condition_variable;
#endif

namespace {

constexpr size_t Capacity = 64;
constexpr unsigned TableSize = 256;

Mutex QueueLock, TableLock;
Condition NotEmpty, NotFull;
std::deque<uint32_t> Queue;
uint64_t Table[TableSize];

void put(uint32_t Request) {
  std::unique_lock<Mutex> Held(QueueLock);
  NotFull.wait(Held, [] { return Queue.size() < Capacity; });
  Queue.push_back(Request);
  NotEmpty.notify_one();
}

uint32_t take() {
  std::unique_lock<Mutex> Held(QueueLock);
  NotEmpty.wait(Held, [] { return !Queue.empty(); });
  uint32_t Request = Queue.front();
  Queue.pop_front();
  NotFull.notify_one();
  return Request;
}

// Stands for parsing: some microseconds of work on data of one's own.
uint32_t handle(uint32_t Request) {
  uint32_t X = Request | 1;
  for (int I = 0; I < 1000; ++I)
    X = X * 1664525u + 1013904223u;
  return X;
}

void frontEnd(uint32_t Number, uint32_t Requests) {
  for (uint32_t I = 0; I < Requests; ++I)
    put(Number * Requests + I);
}

void worker(uint32_t Requests) {
  for (uint32_t I = 0; I < Requests; ++I) {
    uint32_t Result = handle(take());
    std::lock_guard<Mutex> Held(TableLock);
    Table[Result % TableSize] += Result;
  }
}

} // namespace

int main(int argc, char **argv) {
  uint32_t Each = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8;
  uint32_t Requests = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 60000;
  if (Each == 0 || Each > 256 || Requests == 0) {
    std::fprintf(stderr, "usage: %s [THREADS-OF-EACH [REQUESTS-OF-EACH]]\n", argv[0]);
    return 2;
  }
  std::vector<std::thread> All;
  for (uint32_t I = 0; I < Each; ++I) {
    All.emplace_back(frontEnd, I, Requests);
    All.emplace_back(worker, Requests);
  }
  for (std::thread &T : All)
    T.join();
  uint64_t Sum = 0;
  for (unsigned I = 0; I < TableSize; ++I)
    Sum = Sum * 31 + Table[I];
  std::printf("%u requests, table %016llx\n", Each * Requests,
              static_cast<unsigned long long>(Sum));
  return 0;
}
