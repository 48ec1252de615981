/*===- spin-wait/cpu_time.c - Waits that only CPU time ends ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "spin-wait/cpu_time.h"
#include "platform/linux/cpu_timers.h"
#include "spin-wait/shared.h"

/* Unit of the time in vf_spin_shared.cpu_time: 1.05 ms. */
#define UNIT_LOG2 20
#define UNITS_MAX (UINT32_MAX >> 1)
/* Time between two queries of the timers, in units of 2^UNIT_LOG2 ns. A query
 * takes 6 us, 0.06 % of one thread's time. */
#define ASK_EVERY 10u

bool vf_cpu_time_counts(uint64_t now) {
  uint32_t *cpu_time = &vf_spin_shared_1.cpu_time;
  uint32_t last = vf_get(cpu_time), units = (uint32_t)(now >> UNIT_LOG2);
  if (last == 0 || ((units - (last >> 1)) & UNITS_MAX) >= ASK_EVERY) {
    last = units << 1 | vf_cpu_timer_runs();
    vf_set(cpu_time, last);
  }
  return last & 1;
}
