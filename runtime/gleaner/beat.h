/*===- gleaner/beat.h - Whether the daemon still answers ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * While the workload is confined the daemon beats each 0.1 s and more often.
 * The supervisor looks each GL_LOOK_NS:
 *
 *   struct gl_watch watch = {0};
 *   if (gl_watch_is_lost(&watch, folded, beat))
 *     ... it is stopped, or so late that the CPUs are better back ...
 *
 * A clock does not tell: a guest that was suspended, or whose host had no time
 * for it, finds all deadlines passed at once, and the daemon had no time
 * either. So looks are counted, as between two of them the supervisor slept
 * while the daemon could run.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_BEAT_H
#define VFRIENDLY_GLEANER_BEAT_H

#include <stdbool.h>
#include <stdint.h>

#define GL_LOOK_NS 100000000
/* The workload may have been confined just before the first of them. The others
 * are 2 s: a wake-up may take a second where an emulated guest has half of its
 * CPUs. */
#define GL_MOST_MISSED 21

/* Zero-initialized before its first use. */
struct gl_watch {
  uint32_t beat;
  unsigned missed; /* looks in a row without a new beat */
};

/* Returns true if the daemon has not beaten for GL_MOST_MISSED looks in a row,
 * while the workload was confined. */
static inline bool gl_watch_is_lost(struct gl_watch *watch, bool folded,
                                    uint32_t beat) {
  watch->missed = folded && beat == watch->beat ? watch->missed + 1 : 0;
  watch->beat = beat;
  return watch->missed >= GL_MOST_MISSED;
}

#endif /* VFRIENDLY_GLEANER_BEAT_H */
