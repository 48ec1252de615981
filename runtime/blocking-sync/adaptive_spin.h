/*===- blocking-sync/adaptive_spin.h - Spinning on a lock that is held -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Functions for a waiter that polls a lock word until it has acquired the lock,
 * its time budget is used up, or it notices that it was preempted.
 *
 *   uint64_t now = vf_now_ns(), end = now + (vf_spin_budget_ns() >> failed);
 *   unsigned pauses = VF_FIRST_PAUSES;
 *   while (!(got_it = look()) && now < end && vf_pause(&pauses, &now))
 *     ;
 *   vf_learn(&failed, got_it);
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_BLOCKING_SYNC_ADAPTIVE_SPIN_H
#define VFRIENDLY_BLOCKING_SYNC_ADAPTIVE_SPIN_H

#include "platform/linux/kernel.h"
#include "relax.h"
#include "spin-wait/crowd.h"
#include <stdbool.h>

/* Initial and maximum number of pauses between two reads of the lock word. On
 * the development machine 4 pauses take 0.1 us and 128 pauses 3 us. Reads have
 * to be rare, because each takes the cache line away from the holder of the
 * lock: a lock with critical sections of a few nanoseconds changes hands a
 * hundred times in 3 us. But what a waiter notices late delays its own release,
 * too: with 8 pauses at first, two threads that hold the lock for 0.2 us and
 * leave it for 0.4 us met again in each iteration, and had 0.8 of the
 * throughput.
 */
#define VF_FIRST_PAUSES 4u
#define VF_LOOK_PAUSES 128u
/* Maximum number of halvings of the spin budget. Each failed spin, after which
 * the thread slept, halves the budget of the next spins, down to 1/64 of
 * vf_spin_budget_ns; each successful spin doubles it. */
#define VF_MAX_FAILED_SPINS 6u

/* Updates the number of recent spins that failed minus those that succeeded.
 * The update takes no lock: if it is lost, the budget of the next spin is twice
 * or half as long as it should be. */
static inline void vf_learn(uint16_t *failed, bool succeeded) {
  unsigned before = __atomic_load_n(failed, __ATOMIC_RELAXED);
  unsigned now = succeeded
                     ? (before > 0 ? before - 1 : 0)
                     : (before < VF_MAX_FAILED_SPINS ? before + 1 : before);
  if (now != before)
    __atomic_store_n(failed, (uint16_t)now, __ATOMIC_RELAXED);
}

/* Pauses *pauses times between two reads of the lock word, then increases
 * *pauses by a quarter, up to VF_LOOK_PAUSES. So a thread notices the release
 * of the lock late by at most a quarter of the time for which it has waited.
 * Sets *now to the current time. Returns false if the pauses took so long that
 * the thread must have been preempted. */
static inline bool vf_pause(unsigned *pauses, uint64_t *now) {
  for (unsigned i = 0; i < *pauses; ++i)
    vf_relax();
  if (*pauses < VF_LOOK_PAUSES)
    *pauses += *pauses / 4;
  uint64_t then = *now;
  *now = vf_now_ns();
  if (*now - then <= VF_GAP_NS)
    return true;
  vf_crowd_seen();
  return false;
}

#endif /* VFRIENDLY_BLOCKING_SYNC_ADAPTIVE_SPIN_H */
