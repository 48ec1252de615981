// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A local variable that holds the result of each poll. The report names the call that polls: no other thread writes the
// variable, so there is no data race on it.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <optional>
#include <thread>

struct Queue {
  std::atomic<int> next;
  std::optional<int> peek() {
    int item = next.load();
    if (item == 0)
      return std::nullopt;
    return item;
  }
};
int before(Queue &q) {
  std::optional<int> v = q.peek();
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'peek' and yields between polls; spin then block; it writes
  while (!v) {
    std::this_thread::yield();
    v = q.peek();
  }
  return *v;
}
int in_condition(Queue &q) {
  std::optional<int> v;
  // CHECK: :[[@LINE+1]]:3: warning: loop polls by calling 'peek'; spin then block; it writes
  while (!(v = q.peek()))
    __builtin_ia32_pause();
  return *v;
}

// Twin: another thread writes the local, which the loop only reads.
int written_by_thread() {
  std::optional<int> v;
  std::thread t([&] { v = 3; });
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'v' and yields between polls: a data race
  while (!v)
    std::this_thread::yield();
  t.join();
  return *v;
}
// Twin: another thread writes the local to a value that it has computed.
int compute();
int written_by_call() {
  int v = 0;
  std::thread t([&] { v = compute(); });
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'v' and yields between polls: a data race
  while (!v)
    std::this_thread::yield();
  t.join();
  return v;
}
// Twin: each iteration assigns what it reads from plain memory that another thread writes.
int global;
void wait_global() {
  int v;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'global' and yields between polls: a data race
  do {
    v = global;
    std::this_thread::yield();
  } while (!v);
}
