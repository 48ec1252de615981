// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits that end at a time, by each of the clocks in use and in the forms in which it is asked. Check and
// pass agree on each loop.
//
// REQUIRES: host-x86_64
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <sched.h>
#include <sys/time.h>
#include <thread>
#include <x86intrin.h>
using Clock = std::chrono::steady_clock;

bool by_day(std::atomic<bool> &ready, long ms) {
  struct timeval start, now;
  gettimeofday(&start, nullptr);
  // CHECK: :[[@LINE+3]]:3: warning: loop spins on {{.*}}ready
  // expected-remark@+2 {{the loop gives up at the same time}}
  // expected-remark@+1 {{link with libvfrt}}
  while (!ready.load()) {
    gettimeofday(&now, nullptr);
    if ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_usec - start.tv_usec) / 1000 > ms)
      return false;
  }
  return true;
}

bool by_chrono(std::atomic<int> &state) {
  auto end = Clock::now() + std::chrono::milliseconds(5);
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}state
  // expected-remark@+1 {{it gives up at a time, and yields already}}
  do {
    if (state.load(std::memory_order_acquire) == 2)
      return true;
    std::this_thread::yield();
  } while (Clock::now() < end);
  return false;
}

int by_seconds(volatile int *done) {
  time_t begin = time(NULL);
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}done
  // expected-remark@+1 {{it gives up at a time, and yields already}}
  while (*done == 0 && time(NULL) - begin < 3)
    sched_yield();
  return *done;
}

bool by_cycles(std::atomic<uint32_t> &word, uint32_t old, uint64_t cycles) {
  uint64_t t0 = __rdtsc();
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}word
  // expected-remark@+1 {{the loop gives up at the same time}}
  while (word.load(std::memory_order_relaxed) == old) {
    if (__rdtsc() - t0 >= cycles)
      return false;
    _mm_pause();
  }
  return true;
}

bool seldom_asked(std::atomic<bool> &flag) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  const int64_t limit = ts.tv_sec * 1000000000LL + ts.tv_nsec + 200000;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}flag
  // expected-remark@+1 {{the loop gives up at the same time}}
  for (unsigned spins = 0; !flag.load(); ++spins) {
    if ((spins & 127) == 0) {
      clock_gettime(CLOCK_MONOTONIC, &ts);
      if (ts.tv_sec * 1000000000LL + ts.tv_nsec > limit)
        return false;
    }
    _mm_pause();
  }
  return true;
}

struct Timer {
  Clock::time_point from = Clock::now();
  double seconds() const { return std::chrono::duration<double>(Clock::now() - from).count(); }
};

bool by_timer(std::atomic<int> &jobs, double limit) {
  Timer t;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}jobs
  // expected-remark@+1 {{it gives up at a time, and yields already}}
  while (jobs.load() != 0) {
    if (t.seconds() > limit)
      return false;
    std::this_thread::yield();
  }
  return true;
}

bool by_cpu_time(std::atomic<bool> &flag, clock_t limit) {
  clock_t end = clock() + limit;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on {{.*}}flag
  // expected-remark@+1 {{it may give up after a CPU time}}
  while (!flag.load(std::memory_order_acquire)) {
    if (clock() > end)
      break;
  }
  return flag;
}

void set(std::atomic<bool> &f, std::atomic<int> &i, std::atomic<uint32_t> &w) { f = true; i = 2; w = 3; }

// Not waits: one looks at the clock only, and one works until a time.
void delay(uint64_t cycles) {
  uint64_t start = __rdtsc();
  while (__rdtsc() - start < cycles)
    _mm_pause();
}
int work(int);
int work_until(std::atomic<bool> &stop, int n) {
  auto end = Clock::now() + std::chrono::seconds(1);
  while (!stop.load() && Clock::now() < end)
    n = work(n);
  return n;
}
