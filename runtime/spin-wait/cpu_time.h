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

#include <stdbool.h>
#include <stdint.h>

/* Returns true if a wait may neither yield nor sleep now. All threads share one
 * answer, which may be 10 ms old: a timer set meanwhile is noticed late by up
 * to 10 ms. */
bool vf_cpu_time_counts(uint64_t now);

#endif /* VFRIENDLY_SPIN_WAIT_CPU_TIME_H */
