/*===- flag-atomic.h - while (!flag); on a C11 atomic --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Raised with release, polled with acquire, so the payload is plain memory.
 *===----------------------------------------------------------------------===*/

#include <stdatomic.h>

#define PAYLOAD

struct flag {
  atomic_int up;
  WAITER_COUNT
};

static inline void flag_init(struct flag *f) { atomic_init(&f->up, 0); }

static inline void flag_raise(struct flag *f) {
  atomic_store_explicit(&f->up, 1, memory_order_release);
  WAKE_ALL(f, up);
}

static inline void flag_await_and_lower(struct flag *f) {
  while (!atomic_load_explicit(&f->up, memory_order_acquire))
    RELAX(f, up, 0);
  atomic_store_explicit(&f->up, 0, memory_order_relaxed);
}
