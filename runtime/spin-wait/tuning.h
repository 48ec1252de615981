/*===- spin-wait/tuning.h - Settings from the environment -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   VF_SPIN_BUDGET_NS=0..1000000  how long a wait may spin before it blocks, in
 *                                 nanoseconds; default 50000 until the cost of
 *                                 a wake-up has been measured
 *   VF_SPIN_NOTIFY=on|off         off: notifies do nothing, to measure and to
 *                                 verify that a missing one never hangs
 *   VF_STATS=0|1|PATH             1: print counters at exit or SIGTERM to
 *                                 stderr, and those of each call site that
 *                                 takes a lock (common/sites.h); PATH: print
 *                                 them to that file (common/report.h)
 *
 * Any other value is reported once on stderr, and the default is used. The
 * constructor of the first copy reads them; earlier waits use the defaults.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_TUNING_H
#define VFRIENDLY_SPIN_WAIT_TUNING_H

#include "spin-wait/shared.h"

/* Spin budget before the first wake-up is measured: what blocking costs. A wait
 * that spins for as long as blocking costs takes at most twice the time of the
 * better choice. On the development machine a wake-up takes 23 us until the
 * sleeper runs and 7 us of the waker's time, going to sleep 5 us; in other
 * virtual machines a wake-up takes 17 to 96 us (Ding et al., ATC'14, table 2).
 * Each measured wake-up moves the budget away from this value (tuning.c). */
#define VF_BUDGET_DEFAULT_NS 50000u
/* CPU time that one sleep takes: 7 us of the waker and 5 us of the sleeper (see
 * VF_BUDGET_DEFAULT_NS). */
#define VF_SLEEP_COSTS_NS 12000u
/* Limits of the estimated wake-up time. The minimum is the quickest wake-up
 * measured on the development machine, in which the sleeper ran on the waker's
 * CPU; the maximum is twice the slowest wake-up of table 2 (Ding et al.). In a
 * wake-up that takes longer, the thread waited for a CPU. */
#define VF_WAKE_MIN_NS 3000u
#define VF_WAKE_MAX_NS 200000u
/* log2 of the time, 16 us, in which at most one wake-up of the process is
 * recorded: storing each would make all CPUs that wake threads write one cache
 * line, which takes some 100 ns to move between two of them. */
#define VF_WAKE_EACH_LOG2 14
/* Maximum spin budget. The time kept in a wait's state saturates just above it
 * (state.h). */
#define VF_BUDGET_MAX_NS 1000000u

/* Returns the budget. Not inline: the reference makes the linker extract this
 * file's constructor from libvfrt.a. */
uint32_t vf_spin_budget_ns(void);

/* Records that a sleeping thread ran again ns nanoseconds after it was woken.
 */
void vf_wake_took(uint64_t ns);

/* Records that the caller has slept, was woken at this time, and runs. */
void vf_woke_since(uint64_t woken_at);

#endif /* VFRIENDLY_SPIN_WAIT_TUNING_H */
