/*===- giveup-bounded.h - TRIES polls of a flag ---------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What flag-bounded.h does before its futex, alone.
 *===----------------------------------------------------------------------===*/

#include <stdatomic.h>

struct flag {
  atomic_int up;
};

static inline void flag_init(struct flag *f) { atomic_init(&f->up, 0); }

static inline void flag_raise(struct flag *f) {
  atomic_store_explicit(&f->up, 1, memory_order_release);
}

/* Returns how many polls failed: TRIES, or fewer if the flag came up. */
static inline int flag_try(struct flag *f) {
  int i;
  for (i = 0; i < TRIES; i++)
    if (atomic_load_explicit(&f->up, memory_order_acquire))
      break;
  return i;
}
