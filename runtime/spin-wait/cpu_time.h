/*===- spin-wait/cpu_time.h - Waits that only CPU time ends ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A CPU-time timer sends a signal after the process has used a certain CPU
 * time, and the handler may set a flag that a loop waits for. If the loop
 * slept, no CPU time would pass and the signal would never arrive. If it
 * yielded to a thread that computes, the waiter itself would use hardly any CPU
 * time. So while such a timer runs, waits only pause.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_CPU_TIME_H
#define VFRIENDLY_SPIN_WAIT_CPU_TIME_H

#include "spin-wait/relaxed.h"
#include <stdbool.h>

/* Returns true if a wait may neither yield nor sleep now. All threads share one
 * answer, which may be 10 ms old, or 80 ms after several queries that found no
 * timer: a timer set meanwhile is noticed late by up to that. */
bool vf_cpu_time_counts(uint64_t now);

/* Returns the last answer, however old. */
bool vf_cpu_time_counted(void);

/* Unit of the time at which the timers were queried: 1.05 ms. */
#define VF_ASKED_UNIT_LOG2 20
#define VF_ASKED_UNITS_MAX (UINT32_MAX >> 3)
/* Time between two queries of the timers, in units of 1.05 ms. It doubles with
 * each query that finds none, VF_ASK_DOUBLINGS times: a query takes 6 us, and
 * 13 us after a long sleep, as much as the sleep. */
#define VF_ASK_EVERY 10u
#define VF_ASK_DOUBLINGS 3u

/* Returns the answer that *answer holds, or asks by ask if it is older. *answer
 * is 0 before the first query, then the time of the last one, the number of
 * doublings in bits 1 and 2, and the answer in bit 0. */
static inline bool vf_cpu_time_counts_by(uint32_t *answer, uint64_t now,
                                         bool (*ask)(void)) {
  uint32_t last = vf_get(answer), units = (uint32_t)(now >> VF_ASKED_UNIT_LOG2),
           doublings = last >> 1 & 3;
  if (last == 0 || ((units - (last >> 3)) & VF_ASKED_UNITS_MAX) >=
                       VF_ASK_EVERY << doublings) {
    bool counts = ask();
    if (last == 0 || counts)
      doublings = 0;
    else if (doublings != VF_ASK_DOUBLINGS)
      ++doublings;
    last = units << 3 | doublings << 1 | counts;
    vf_set(answer, last);
  }
  return last & 1;
}

#endif /* VFRIENDLY_SPIN_WAIT_CPU_TIME_H */
