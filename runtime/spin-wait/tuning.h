/*===- spin-wait/tuning.h - What the environment may set ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   VF_SPIN_BUDGET_NS=0..1000000  how long a wait may burn its CPU before it
 *                                 blocks, in nanoseconds; default 50000 until
 *                                 it was seen what a wake-up takes
 *   VF_SPIN_NOTIFY=on|off         off: notifies do nothing, to measure and to
 *                                 verify that a missing one never hangs
 *   VF_STATS=0|1|PATH             1: print counters at exit, on stderr, and
 *                                 what each place that takes a lock did
 *                                 (common/sites.h); PATH: there
 * (common/report.h)
 *
 * Anything else is reported once on stderr, and the default used. Read by the
 * first copy's constructor; earlier waits use the defaults.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_TUNING_H
#define VFRIENDLY_SPIN_WAIT_TUNING_H

#include "spin-wait/shared.h"

/* Spinning for as long as blocking would cost wastes at most as much again as
 * the better of the two. Waking a sleeper here takes 23 us until it runs and 7
 * us of the waker's time, going to sleep another 5; in other virtual machines
 * 17 to 96 us (Ding et al., ATC'14, table 2). So this holds only until enough
 * sleepers were woken to know better. */
#define VF_BUDGET_DEFAULT_NS 50000u
/* The waker's and the sleeper's own time. */
#define VF_SLEEP_COSTS_NS 12000u
/* A wake-up is not believed to take less than the quickest measured here, on
 * the waker's CPU, or more than twice of table 2's slowest: beyond, it is the
 * wait for a CPU. */
#define VF_WAKE_MIN_NS 3000u
#define VF_WAKE_MAX_NS 200000u
/* The state saturates a little above (state.h). */
#define VF_BUDGET_MAX_NS 1000000u

/* Not inline: it is what makes a linker take the constructor out of libvfrt.a.
 */
uint32_t vf_spin_budget_ns(void);

/* A sleeper ran so long after it was woken. */
void vf_wake_took(uint64_t ns);

#endif /* VFRIENDLY_SPIN_WAIT_TUNING_H */
