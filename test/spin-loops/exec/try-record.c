// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bounded poll that records the event, in plain memory that it polls, too.
// Every second event is for nobody: it is recorded, and the poll goes on.
//
// REQUIRES: host-x86_64
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>
#include <stdbool.h>

static int threads;
static atomic_int generation, wanted;
static void raise_flag(int round) {
  atomic_fetch_add(&generation, 1);
  atomic_store(&wanted, round);
  atomic_fetch_add(&generation, 1);
}
struct state {
  int last;
  bool pending;
};
static bool ready(struct state *own, int round) {
  if (own->pending)
    return true;
  int now = atomic_load_explicit(&generation, memory_order_acquire);
  if (now != own->last) {
    own->pending = atomic_load(&wanted) == round;
    own->last = now;
  }
  return own->pending;
}
static void await(int round) {
  static struct state states[64];
  static atomic_int used;
  static _Thread_local struct state *own;
  if (!own)
    own = &states[atomic_fetch_add(&used, 1) % 64];
  own->pending = false;
  own->last = -1;
  while (!own->pending)
    for (int i = 0; !ready(own, round) && i < 100000; i++)
      __builtin_ia32_pause();
}

#define KIND_FLAG
#include "harness.h"
