// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers that take tasks while there are some, poll after the last one, and sleep after PERIOD failed
// polls. Every second task is one to run, after which they go on.
//
// RUN: %spin_exec --tsan clean

#include <atomic>
#include <time.h>

#ifndef PERIOD
#define PERIOD 1000
#endif

static int threads;
static std::atomic<int> posted;
static thread_local int taken, ran;
static void raise_flag(int round) {
  posted.store(2 * round - 1);
  posted.store(2 * round);
}
static bool take(int &task) {
  int now = posted.load(std::memory_order_acquire);
  if (now == taken)
    return false;
  task = taken = now;
  return true;
}
__attribute__((noinline)) static void run(int) { ++ran; }
static void await(int round) {
  for (int failed = 0;;) {
    int task;
    if (take(task)) {
      if (task == 2 * round)
        return;
      run(task);
      failed = 0;
    } else if (++failed > PERIOD) {
      struct timespec nap = {0, 50000};
      nanosleep(&nap, nullptr);
    } else {
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
    }
  }
}

#define KIND_FLAG
#include "harness.h"
