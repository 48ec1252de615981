/*===- alone/spin-wait/shared.h - State of waits without libvfrt ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Takes the place of the runtime's spin-wait/shared.h and of what
 * spin-wait/bounded_steps.h needs besides, so that both have the same steps.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_SHARED_H
#define VFRIENDLY_SPIN_WAIT_SHARED_H

/* Names that libvfrt.a does not have. */
#define vf_spin_shared_1 vf_spin_alone_words_2
#define vf_cpu_time_counts vf_spin_alone_cpu_time_counts

#include "spin-wait/cpu_time.h"
#include "system_call.h"
#include "vfriendly/spin_wait.h"

/* The same words as in the runtime; a program or library has one copy. */
struct vf_spin_shared {
  uint32_t crowd, hogged_until, hog_began, hog_ended, cpu_time;
};
extern struct vf_spin_shared vf_spin_shared_1;

/* Counts nothing: without the runtime nobody prints it. */
#define vf_count(counter, n) ((void)0)

/* CLOCK_MONOTONIC is 1. A system call takes 60 to 200 ns; the vDSO is a
 * library, which a rewritten object file does not need. */
static inline uint64_t vf_now_ns(void) {
  long time[2];
  vf_system_call(VF_CLOCK_GETTIME, 1, (long)time, 0, 0);
  return (uint64_t)time[0] * 1000000000u + (uint64_t)time[1];
}

static inline void vf_yield(void) {
  vf_system_call(VF_SCHED_YIELD, 0, 0, 0, 0);
}

/* The default of the runtime (tuning.h), which then measures what a wake-up
 * costs; without it nothing wakes. */
static inline uint32_t vf_spin_budget_ns(void) { return 50000; }

/* Without the runtime the flag VF_SPIN_AWAKE tells it alone. */
static inline bool vf_calls_are_foreign(void) { return false; }

/* No writer notifies, so no wait sleeps until a notify. */
static inline bool vf_spin_block_for(const volatile void *addr,
                                     uint64_t observed, uint32_t how,
                                     uint64_t ns) {
  (void)addr, (void)observed, (void)how, (void)ns;
  return false;
}

#endif /* VFRIENDLY_SPIN_WAIT_SHARED_H */
