// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that compares what it reads with what it has read before is a retry, also if the earlier
// read is kept in a local variable whose address a call gets.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
#include <atomic>

struct Head {
  std::atomic<long> first, stamp;
};
bool replace(std::atomic<long> &word, long &expected, long by);

void push(Head &head, std::atomic<long> &mine) {
  long before = head.first.load();
  for (;;) {
    long now = head.first.load();
    if (before != now) {
      before = now;
      continue;
    }
    mine.store(head.stamp.fetch_add(1));
    if (replace(head.first, before, 1))
      return;
  }
}
// Twin: what the call has put there is none of the loop's reads.
void wait_for(Head &head, std::atomic<long> &mine) {
  long before = 0;
  replace(head.first, before, 1);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'head.first'
  for (;;) {
    long now = head.first.load();
    if (before != now)
      continue;
    mine.store(head.stamp.fetch_add(1));
    if (replace(head.first, before, 1))
      return;
  }
}
