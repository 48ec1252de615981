// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Readers that say by a store that they are there, look for a writer, take that back and wait.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdatomic.h>
#include <stdbool.h>

extern _Atomic int writer, here, there;
extern volatile int vhere, vwriter;

void waits(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'writer'{{.*}}; each iteration registers the thread and retracts that (
  for (;;) {
    atomic_store(&here, 1);
    if (!atomic_load(&writer))
      return;
    atomic_store(&here, 0);
    __builtin_ia32_pause();
  }
}

void waits_inside(void) {
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'writer'{{.*}}; each iteration registers the thread and retracts that (
  // CHECK: :[[@LINE+2]]:5: warning: loop spins on atomic 'writer'
  for (;;) {
    while (atomic_load(&writer))
      ;
    here = 1;
    if (!writer)
      return;
    here = 0;
  }
}

void waits_volatile(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'vwriter'{{.*}}; each iteration registers the thread and retracts that (
  for (;;) {
    vhere = 1;
    __sync_synchronize();
    if (!vwriter)
      return;
    vhere = 0;
    __builtin_ia32_pause();
  }
}

bool waits_bounded(int tries) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'writer', a bounded number of times{{.*}}; each iteration registers the thread and retracts that (
  for (int i = 0; i < tries; i++) {
    atomic_exchange(&here, 1);
    if (!atomic_load(&writer))
      return true;
    atomic_store(&here, 0);
    __builtin_ia32_pause();
  }
  return false;
}

struct reader { unsigned here; };
struct lock { volatile unsigned writer; };
static inline void say(unsigned *p, unsigned v) {
  __asm__ volatile("movl %1, %0" : "=m"(*p) : "r"(v) : "memory");
}
void waits_by_assembly(struct lock *l, struct reader *r) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'l->writer'{{.*}}; each iteration registers the thread and retracts that (
  for (;;) {
    say(&r->here, 1);
    if (!l->writer)
      return;
    say(&r->here, 0);
    __builtin_ia32_pause();
  }
}

void no_reader(struct reader *r, int n) {
  // Not taken back.
  while (atomic_load(&writer)) {
    atomic_store(&here, 1);
    __builtin_ia32_pause();
  }
  while (atomic_load(&writer)) {
    say(&r->here, 1);
    __builtin_ia32_pause();
  }
  // Two places.
  while (atomic_load(&writer)) {
    atomic_store(&here, 1);
    atomic_store(&there, 0);
    __builtin_ia32_pause();
  }
  // Something else each iteration.
  for (int i = 0; atomic_load(&writer); i++) {
    atomic_store(&here, i);
    atomic_store(&here, i + 1);
    __builtin_ia32_pause();
  }
  // No hint says that this waits.
  for (;;) {
    atomic_store(&here, 1);
    if (!atomic_load(&writer))
      return;
    atomic_store(&here, 0);
  }
}
