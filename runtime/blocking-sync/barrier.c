/*===- blocking-sync/barrier.c - Barriers ---------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Waiters watch the round number, whose lowest bit says that some sleep. The
 * last to arrive counts the round up; that and the farewell of each thread are
 * the last accesses to the barrier, so destroy can wait for them.
 *===----------------------------------------------------------------------===*/

#include "vfriendly/barrier.h"
#include "blocking-sync/waiting.h"

#define SLEEPERS 1u
#define ROUND 2u

static bool is_over(const vf_barrier *barrier, uint32_t round) {
  uint32_t now = __atomic_load_n(&barrier->round_, __ATOMIC_ACQUIRE);
  return (now & ~SLEEPERS) != round;
}

static void wait_for_end(vf_barrier *barrier, uint32_t round) {
  uint64_t state = 0;
  do
    if (is_over(barrier, round))
      return;
  while (vf_keep_spinning(&state));

  do {
    uint32_t word = round;
    if (!__atomic_compare_exchange_n(&barrier->round_, &word, round | SLEEPERS,
                                     false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED) &&
        word != (round | SLEEPERS))
      continue;
    vf_futex_wait_until(&barrier->round_, round | SLEEPERS, NULL,
                        vf_scope(barrier->flags_));
  } while (!is_over(barrier, round));
}

static void end(vf_barrier *barrier, uint32_t round) {
  __atomic_store_n(&barrier->arrived_, 0, __ATOMIC_RELAXED);
  if (__atomic_exchange_n(&barrier->round_, round + ROUND, __ATOMIC_ACQ_REL) &
      SLEEPERS)
    vf_futex_wake(&barrier->round_, INT_MAX, vf_scope(barrier->flags_));
}

VF_API int vf_barrier_init(vf_barrier *barrier, unsigned flags,
                           unsigned threads) {
  if (!vf_flags_are_good(flags) || threads == 0)
    return EINVAL;
  *barrier = (vf_barrier){0, 0, 0, threads, flags};
  return 0;
}

VF_API int vf_barrier_destroy(vf_barrier *barrier) {
  while (__atomic_load_n(&barrier->inside_, __ATOMIC_ACQUIRE) != 0)
    vf_yield();
  return 0;
}

VF_API int vf_barrier_wait(vf_barrier *barrier) {
  __atomic_fetch_add(&barrier->inside_, 1, __ATOMIC_RELAXED);
  uint32_t round =
      __atomic_load_n(&barrier->round_, __ATOMIC_RELAXED) & ~SLEEPERS;
  uint32_t arrived =
      __atomic_add_fetch(&barrier->arrived_, 1, __ATOMIC_ACQ_REL);
  bool last = arrived == barrier->threads_;
  if (last)
    end(barrier, round);
  else
    wait_for_end(barrier, round);
  __atomic_fetch_sub(&barrier->inside_, 1, __ATOMIC_RELEASE);
  return last ? VF_BARRIER_LAST : 0;
}
