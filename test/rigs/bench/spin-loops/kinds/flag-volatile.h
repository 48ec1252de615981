/*===- flag-volatile.h - while (!flag); on a volatile int ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The oldest shape there is. The payload is volatile too, or the compiler may
 * move it across the poll; orders memory on x86 only, like all such code.
 *===----------------------------------------------------------------------===*/

#define PAYLOAD volatile

struct flag {
  volatile int up;
  WAITER_COUNT
};

static inline void flag_init(struct flag *f) { f->up = 0; }

static inline void flag_raise(struct flag *f) {
  f->up = 1;
  WAKE_ALL(f, up);
}

static inline void flag_await_and_lower(struct flag *f) {
  while (!f->up)
    RELAX(f, up, 0);
  f->up = 0;
}
