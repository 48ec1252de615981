// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The examples of guidelines/spin-loops.md.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c11 -I%vf_include 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <vfriendly/spin_wait.h>

atomic_bool ready;

// example: bad
void wait_until_ready(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready'
  while (!atomic_load(&ready))
    ;
}
// example end

// Spins for about as long as a wake-up takes, then blocks until it is notified.
// example: spin-then-block
void wait_or_block(void) {
  uint64_t state = 0;
  while (!atomic_load_explicit(&ready, memory_order_acquire))
    state = vf_spin_wait(&ready, 0, state, sizeof ready | VF_SPIN_NOTIFIED);
}
void announce(void) {
  atomic_store_explicit(&ready, true, memory_order_release);
  vf_spin_notify_if_waiting(&ready);
}
// example end

// Spins for at most as long as a million polls take.
// example: bounded
bool came_soon(void) {
  VF_SPIN_BUDGET(wait);
  for (int i = 0; i < 1000000; i++) {
    if (atomic_load(&ready))
      return true;
    i += vf_spin_budget(&ready, 0, &wait, sizeof ready | VF_SPIN_NOTIFIED, 999999 - i);
  }
  return false; // Now take the mutex.
}
// example end

// Needs nothing of vfriendly.
// example: block
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
bool is_ready;

void wait_blocking(void) {
  pthread_mutex_lock(&lock);
  while (!is_ready)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}
// example end
