/*===- spin-wait/cpu_time.c - Waits that only CPU time ends ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-wait/cpu_time.h"
#include "platform/linux/cpu_timers.h"
#include "spin-wait/shared.h"

bool vf_cpu_time_counts(uint64_t now) {
  return vf_cpu_time_counts_by(&vf_spin_shared_1.cpu_time, now,
                               vf_cpu_timer_runs);
}

bool vf_cpu_time_counted(void) {
  return vf_get(&vf_spin_shared_1.cpu_time) & 1;
}
