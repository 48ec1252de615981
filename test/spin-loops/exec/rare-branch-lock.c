// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ticket lock that polls and, after every PERIOD polls, sleeps on a futex, in one
// flat loop. A thread that sleeps says so, and unlocking wakes it.
//
// RUN: %spin_exec --tsan clean

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef PERIOD
#define PERIOD 1000
#endif

static int threads;
static atomic_uint next, active, sleepers;
static void unlock(int self) {
  (void)self;
  atomic_fetch_add(&active, 1);
  if (atomic_load(&sleepers))
    syscall(SYS_futex, &active, FUTEX_WAKE_PRIVATE, 64, 0, 0, 0);
}
__attribute__((noinline)) static void sleep_on(unsigned seen) {
  struct timespec limit = {0, 20000000};
  atomic_fetch_add(&sleepers, 1);
  syscall(SYS_futex, &active, FUTEX_WAIT_PRIVATE, seen, &limit, 0, 0);
  atomic_fetch_sub(&sleepers, 1);
}
static void lock(int self) {
  (void)self;
  unsigned mine = atomic_fetch_add(&next, 1), polls = 0, seen;
  unsigned period = threads > 6 ? PERIOD / 2 + 3 : PERIOD;
  for (;;) {
    seen = atomic_load(&active);
    if (seen == mine)
      break;
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
    if (++polls % period == 0)
      sleep_on(seen);
  }
}

#define KIND_LOCK
#include "harness.h"
