// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that poll in most iterations, and block, sleep or work in others. The check reports the polling
// iterations, as the pass rewrites them, and offers no fix: the text of the loop holds both.
//
// REQUIRES: host-x86_64
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=fix

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <x86intrin.h>

// Parks after many polls.
class Parker {
public:
  void park();
};
struct Waiter {
  Parker parker;
  std::atomic<bool> granted{false};
};
void await_grant(Waiter &w) {
  int spins = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'w.granted', many times before it does more: the vCPU is wasted meanwhile; spin briefly, then block (
  while (!w.granted.load(std::memory_order_acquire)) {
    if (++spins < 16384) {
      __builtin_ia32_pause();
      continue;
    }
    w.parker.park();
    spins = 0;
  }
}

// Yields, and sleeps once in 2,000 polls: it does not sleep between all polls.
volatile int turn;
void wait_turn(int me) {
  int spins = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'turn', many times before it does more:
  while (turn != me) {
    if (++spins >= 2000) {
      struct timespec nap = {0, 100000};
      nanosleep(&nap, nullptr);
      spins = 0;
    } else {
      sched_yield();
    }
  }
}

// Yields until a time, and then waits on a condition variable, as OpenBLAS' threads do.
struct Slot {
  std::atomic<void *> queue;
  bool asleep;
  pthread_mutex_t lock;
  pthread_cond_t wakeup;
};
extern unsigned long timeout;
void *serve(Slot *s) {
  unsigned long last = __rdtsc();
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 's->queue', many times before it does more:
  while (!s->queue.load(std::memory_order_acquire)) {
    sched_yield();
    if (__rdtsc() - last > timeout) {
      pthread_mutex_lock(&s->lock);
      s->asleep = true;
      while (s->asleep)
        pthread_cond_wait(&s->wakeup, &s->lock);
      pthread_mutex_unlock(&s->lock);
      last = __rdtsc();
    }
  }
  return s->queue.load(std::memory_order_acquire);
}

// Polls while there is nothing to do, and works in other iterations.
void handle(int);
void serve_all(std::atomic<int> &next, std::atomic<bool> &stop) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic {{.*}}: the vCPU is wasted while the other thread is descheduled; spin then block (
  while (!stop.load(std::memory_order_acquire)) {
    int job = next.load(std::memory_order_acquire);
    if (job == 0) {
      __builtin_ia32_pause();
      continue;
    }
    handle(job);
  }
}

// Twin: sleeps between all polls.
void sleeps(std::atomic<bool> &flag) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'flag' and sleeps between polls:
  while (!flag.load()) {
    struct timespec nap = {0, 100000};
    nanosleep(&nap, nullptr);
  }
}
// Twin: works in each iteration, and more in some.
void works(std::atomic<bool> &flag) {
  for (int n = 0; !flag.load();) {
    handle(n);
    if (++n % 10000 == 0)
      sched_yield();
  }
}
// Twin: elements, of which some are logged.
void logs(std::atomic<int> &level, int many) {
  for (int i = 0; i < many; ++i)
    if (level.load(std::memory_order_relaxed))
      handle(i);
}
