// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits that count their polls in an object of their caller, and record the most and the fewest.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <thread>

struct Counts {
  unsigned long polls = 0, most = 0, fewest = ~0ul, last = 0;
  void note(unsigned long n) {
    polls += n;
    if (n > most)
      most = n;
  }
};
void await(std::atomic<int *> &slot, Counts &counts) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'slot'
  while (!slot.load(std::memory_order_acquire)) {
    counts.note(1);
    std::this_thread::yield();
  }
}
void await_fewest(std::atomic<int> &ready, Counts &counts) {
  unsigned long n = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready'
  while (!ready.load()) {
    n++;
    if (counts.most < n)
      counts.most = n;
    if (counts.fewest > n)
      counts.fewest = n;
    std::this_thread::yield();
  }
}
// Twin: it looks for the largest of what others leave.
void gather_most(std::atomic<int> &stop, const volatile unsigned long &latest, Counts &counts) {
  while (!stop.load()) {
    unsigned long n = latest;
    counts.polls++;
    if (n > counts.most)
      counts.most = n;
    std::this_thread::yield();
  }
}
// Twin: what it leaves is no extreme, so others may act on it.
void tell(std::atomic<int> &stop, Counts &counts) {
  unsigned long n = 0;
  while (!stop.load()) {
    n++;
    counts.last = n;
    std::this_thread::yield();
  }
}
