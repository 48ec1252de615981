// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spins that end by themselves: by a count or a clock.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

std::atomic<int> flag;
void set() { flag = 1; }

void before_blocking(std::mutex &m, std::condition_variable &c) {
  // expected-remark-re@+2 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  // expected-remark@+1 {{link with libvfrt}}
  for (int i = 0; i < 40000; ++i)
    if (flag.load())
      return;
  std::unique_lock<std::mutex> l(m);
  c.wait(l);
}

bool timed(std::chrono::steady_clock::time_point until) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}pause or yield in the runtime, and the loop gives up at the same time}}
  while (!flag.load())
    if (std::chrono::steady_clock::now() > until)
      return false;
  return true;
}

bool deadline(std::chrono::milliseconds limit) {
  auto start = std::chrono::steady_clock::now();
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}pause or yield in the runtime, and the loop gives up at the same time}}
  while (!flag.load()) {
    if (std::chrono::steady_clock::now() - start > limit)
      return false;
  }
  return true;
}

// Why not: it passes the time, and waits for no one.
void not_delay(std::chrono::milliseconds limit) {
  auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < limit) {}
}
