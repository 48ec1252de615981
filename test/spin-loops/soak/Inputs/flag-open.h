/*===- Inputs/flag-open.h - A flag nobody has to wait for ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * For the soak's test of itself: it polls a word that is never set.
 *===----------------------------------------------------------------------===*/

#include <stdatomic.h>

#define PAYLOAD

struct flag {
  atomic_int never;
};

static inline void flag_init(struct flag *f) { atomic_init(&f->never, 0); }

static inline void flag_raise(struct flag *f) { (void)f; }

static inline void flag_await_and_lower(struct flag *f) {
  while (atomic_load_explicit(&f->never, memory_order_acquire))
    ;
}
