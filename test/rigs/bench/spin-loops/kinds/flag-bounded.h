/*===- flag-bounded.h - Polls TRIES times, then a futex -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A waiter polls the flag, and sleeps on it in the kernel once TRIES polls have
 * failed. The thread that sets the flag enters the kernel only if a waiter sleeps.
 *===----------------------------------------------------------------------===*/

#include "futex.h"

#define PAYLOAD

struct flag {
  atomic_int up;
  atomic_uint sleepers;
  WAITER_COUNT
};

static inline void flag_init(struct flag *f) {
  atomic_init(&f->up, 0);
  atomic_init(&f->sleepers, 0);
}

static inline void flag_raise(struct flag *f) {
  atomic_store_explicit(&f->up, 1, memory_order_release);
  WAKE_ALL(f, up);
  futex_wake(&f->up, &f->sleepers, INT_MAX, FUTEX_ANY);
}

static inline void flag_await_and_lower(struct flag *f) {
  for (int i = 0; i < TRIES; i++) {
    if (atomic_load_explicit(&f->up, memory_order_acquire))
      break;
    RELAX(f, up, 0);
  }
  while (!atomic_load_explicit(&f->up, memory_order_acquire))
    futex_sleep(&f->up, 0, &f->sleepers, FUTEX_ANY);
  atomic_store_explicit(&f->up, 0, memory_order_relaxed);
}
