// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions on several words: the sum of an array, any of an array behind a
// pointer, two fields of a structure, and two variables. The writers of each
// word wake the waiter.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

enum { Slots = 3 };
struct slot {
  _Alignas(64) atomic_int value;
};
struct ring {
  atomic_int head, tail;
};

static int threads;
static struct slot global[Slots];
static struct slot heap_like[Slots], *slots = heap_like;
static struct ring ring;
static atomic_int left, right;

static void raise_flag(int round) {
  switch (round / 50 % 4) { /* Each kind has a round in which waiters block. */
  case 0:
    for (int i = 0; i < Slots; ++i)
      atomic_store(&global[i].value, round);
    break;
  case 1:
    atomic_store(&slots[round % Slots].value, round);
    break;
  case 2:
    atomic_store(round & 4 ? &ring.head : &ring.tail, round);
    break;
  default:
    atomic_store(round & 4 ? &left : &right, round);
  }
}

static void await(int round) {
  switch (round / 50 % 4) { /* Each kind has a round in which waiters block. */
  case 0:
    for (;;) {
      int sum = 0;
      for (int i = 0; i < Slots; ++i)
        sum += atomic_load(&global[i].value);
      if (sum == Slots * round)
        return;
    }
  case 1:
    for (;;)
      for (int i = 0; i < Slots; ++i)
        if (atomic_load(&slots[i].value) == round)
          return;
  case 2: {
    struct ring *r = &ring;
    __asm__("" : "+r"(r)); /* Behind a pointer. */
    while (atomic_load(&r->head) != round && atomic_load(&r->tail) != round) {
    }
    return;
  }
  default:
    while (atomic_load(&left) != round && atomic_load(&right) != round) {
    }
  }
}

#define KIND_FLAG
#include "harness.h"
