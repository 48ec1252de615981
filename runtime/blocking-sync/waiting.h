/*===- blocking-sync/waiting.h - Code that all waits share ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Locks, conditions, semaphores and barriers that spin only while that costs
 * less than sleeping, and wake only threads that can proceed.
 *
 * A wait first spins and then sleeps. It pauses and yields as in
 * spin-wait/wait.c: for as long as blocking costs, or for less if there are
 * more threads than CPUs.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_BLOCKING_SYNC_WAITING_H
#define VFRIENDLY_BLOCKING_SYNC_WAITING_H

#include "common/process_wide.h"
#include "platform/linux/kernel.h"
#include "spin-wait/block.h"
#include "spin-wait/crowd.h"
#include "spin-wait/state.h"
#include "vfriendly/mutex.h"
#include "vfriendly/spin_wait.h"
#include <stdbool.h>
#include <stddef.h>

static inline enum vf_scope vf_scope(uint32_t flags) {
  return flags & VF_SHARED ? VF_ACROSS : VF_PRIVATE;
}

static inline bool vf_flags_are_good(unsigned flags) {
  return (flags & ~VF_SHARED) == 0;
}

/* Pauses after a failed attempt. Returns false once the caller should sleep: at
 * once while threads that compute are known to keep the CPUs (crowd.h). If
 * there is a deadline, this function does not yield: a thread that computes
 * would get the CPU and could keep it far beyond the deadline. */
static inline bool vf_keep_spinning(uint64_t *state,
                                    const struct vf_deadline *deadline) {
  if (vf_would_block(*state))
    return false;
  if (deadline && vf_would_yield(*state)) {
    /* Where no wait yields, nothing else would notice that the crowd is gone.
     */
    vf_crowd_not_seen();
    return false;
  }
  *state =
      vf_spin_wait(NULL, 0, *state, VF_SPIN_NO_SLEEP | VF_SPIN_SLEEPS_ITSELF);
  return !vf_would_block(*state);
}

/* Checks and stores the deadline `at`, a time on `clock`. Returns 0 or EINVAL.
 */
static inline int vf_deadline_from(struct vf_deadline *deadline,
                                   clockid_t clock, const struct timespec *at) {
  if ((clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) ||
      at->tv_nsec < 0 || at->tv_nsec > 999999999)
    return EINVAL;
  deadline->clock = clock;
  deadline->at = *at;
  /* The kernel refuses times before the clock's epoch, which are in the past.
   */
  if (at->tv_sec < 0)
    deadline->at = (struct timespec){0, 0};
  return 0;
}

#endif /* VFRIENDLY_BLOCKING_SYNC_WAITING_H */
