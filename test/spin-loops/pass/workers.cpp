// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool's worker that runs tasks while there are some, polls after the last one, and sleeps or
// blocks after many failed polls. The polls between two tasks are the wait, also where the loop
// never ends.
//
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <time.h>

struct Queue {
  std::atomic<int> filled;
  std::mutex m;
  std::condition_variable added;
  bool take(int &task) {
    int n = filled.load(std::memory_order_acquire);
    if (n == 0)
      return false;
    task = n;
    return true;
  }
};
void run(int task);
bool asked();

void sleep_after_failures(Queue &q) {
  // expected-remark@+3 {{at most as long as the loop would spin}}
  // expected-remark@+2 {{link with libvfrt}}
  // CHECK: :[[@LINE+1]]:3: warning{{:}} loop spins on atomic 'filled', many times before it does more
  for (int failed = 0;;) {
    int task;
    if (q.take(task)) {
      run(task);
      failed = 0;
    } else if (++failed > 1000) {
      timespec nap = {0, 1000000};
      nanosleep(&nap, nullptr);
    } else {
      __builtin_ia32_pause();
    }
  }
}
void block_after_failures(Queue &q) {
  // expected-remark@+2 {{at most as long as the loop would spin}}
  // CHECK: :[[@LINE+1]]:3: warning{{:}} loop spins on atomic 'filled', many times before it does more
  for (int failed = 0;;) {
    int task;
    if (q.take(task)) {
      run(task);
      failed = 0;
    } else if (++failed > 1000) {
      std::unique_lock<std::mutex> held(q.m);
      q.added.wait(held);
      failed = 0;
    } else {
      __builtin_ia32_pause();
    }
  }
}

// Twin: the number that the count starts again with differs each time.
void restart_elsewhere(Queue &q) {
  for (int failed = 0;;) {
    int task;
    if (q.take(task)) {
      run(task);
      failed = task;
    } else if (++failed > 1000) {
      run(0);
    }
  }
}
// Twin: each iteration works.
void always_work(Queue &q) {
  for (int failed = 0;;) {
    int task = 0;
    if (q.take(task))
      failed = 0;
    else if (++failed > 1000)
      return;
    run(task);
  }
}
