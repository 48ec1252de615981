// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flag is found through a pointer that is polled too, and its memory is freed
// as soon as the wait has moved on.
//
// RUN: %spin_exec

#include <stdatomic.h>
#include <stdlib.h>

static int threads;
struct box {
  atomic_int flag;
};
static struct box *_Atomic current;
static atomic_int users;
static void raise_flag(int round) {
  struct box *fresh = (struct box *)malloc(sizeof *fresh);
  atomic_init(&fresh->flag, round);
  struct box *old = atomic_exchange(&current, fresh);
  while (atomic_load(&users)) {}
  free(old);
}
static int look(void) {
  atomic_fetch_add(&users, 1);
  struct box *b = atomic_load(&current);
  int seen = b ? atomic_load(&b->flag) : 0;
  atomic_fetch_sub(&users, 1);
  return seen;
}
static void await(int round) {
  while (look() != round) {}
}

#define KIND_FLAG
#include "harness.h"
