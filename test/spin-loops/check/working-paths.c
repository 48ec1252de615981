// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that wait in some iterations and work in others, without any hint: the pass makes the polls a loop of their own
// (pass/working-paths.c), and the check reports them.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdatomic.h>

extern atomic_int ready, stop, ticket, gate;
extern int plain_ready;
void work(void);
void warn(int what);
void block(atomic_int *word);

void consume(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ready'
  for (;;) {
    if (!atomic_load(&ready))
      continue;
    work();
  }
}
// Why not: it serves a queue until it is told to stop.
void consume_until(void) {
  do {
    if (atomic_load(&ready))
      work();
  } while (!atomic_load(&stop));
}
void wait_for_turn(int mine) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'ticket'
  while (atomic_load(&ticket) != mine) {
    if (atomic_load(&ticket) & 1)
      warn(1);
  }
}
void lock_or_block(void) {
  int state;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins {{.*}}'gate'
  do {
    state = atomic_load(&gate);
    if (state == 2)
      block(&gate);
  } while (state != 0 || !atomic_compare_exchange_strong(&gate, &state, 1));
}

// Twin: every iteration works.
void works(void) {
  while (!atomic_load(&stop)) {
    work();
    if (atomic_load(&ready))
      warn(2);
  }
}
// Twin: plain memory. Loops that work read it in most iterations.
void plain(void) {
  for (;;) {
    if (!plain_ready)
      continue;
    work();
  }
}
// Twin: a number of attempts, which goes on while it works.
void attempts(int n) {
  for (int i = 0; i < n; i++)
    if (atomic_load(&ready))
      work();
}
// Twin: each failed iteration leaves its mark.
void marks(void) {
  while (!atomic_load(&ready))
    atomic_fetch_add(&ticket, 1);
}
