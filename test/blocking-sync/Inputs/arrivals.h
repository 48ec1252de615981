// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a barrier promises, of whichever library: nobody leaves a round before all have
// come, what they wrote before is seen, and one is told that it was the last.

#ifndef ARRIVALS_H
#define ARRIVALS_H

#include "workers.h"
#include <string.h>

static long arrivals[MAX_THREADS], last_ones;

static inline void nobody_arrived(void) {
  last_ones = 0;
  memset(arrivals, 0, sizeof arrivals);
}

/* await returns 0, and `last` to one of each round. */
static inline void arrive_in_rounds(struct worker *w, int (*await)(void),
                                    int last) {
  for (long i = 1; i <= w->rounds; ++i) {
    if (draw(w, 50) == 0)
      hold(w);
    arrivals[w->number] = i; /* Plain: the barrier orders it. */
    int result = await();
    CHECK(result == 0 || result == last);
    if (result == last)
      __atomic_fetch_add(&last_ones, 1, __ATOMIC_RELAXED);
    for (int t = 0; t < w->threads; ++t)
      CHECK(arrivals[t] == i);
    await();
  }
}

#endif
