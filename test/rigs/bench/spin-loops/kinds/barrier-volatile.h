/*===- barrier-volatile.h - Sense-reversing barrier, volatile ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * As written before C11: the last to arrive flips the sense the others poll.
 * The payload is volatile too, or the compiler may move it across the poll;
 * orders memory on x86 only, like all such code.
 *===----------------------------------------------------------------------===*/

#define PAYLOAD volatile

struct barrier {
  volatile int missing, sense;
  int threads;
  WAITER_COUNT
};

static inline void barrier_init(struct barrier *b, int threads) {
  b->missing = b->threads = threads;
  b->sense = 0;
}

static inline void barrier_wait(struct barrier *b, int *sense) {
  int mine = *sense = !*sense;
  if (__sync_sub_and_fetch(&b->missing, 1) == 0) {
    b->missing = b->threads;
    b->sense = mine;
    WAKE_ALL(b, sense);
    return;
  }
  while (b->sense != mine)
    RELAX(b, sense, !mine);
}
