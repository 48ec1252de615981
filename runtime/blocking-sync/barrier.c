/*===- blocking-sync/barrier.c - Barriers ---------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * One 64-bit word contains the current phase and the number of arrivals in it,
 * so the atomic addition of an arriving thread returns both. If more threads
 * use the barrier than it was initialized for, some of them arrive for the next
 * phase before the current phase is over. The count of arrivals then exceeds
 * the number of threads per phase, and the end of a phase subtracts only that
 * number.
 *
 * Waiters poll the phase. The lowest bit of the phase is set if some waiters
 * sleep. The last access of a thread to the barrier decrements inside_, the
 * number of threads in vf_barrier_wait; vf_barrier_destroy waits until inside_
 * is zero.
 *===----------------------------------------------------------------------===*/

#include "vfriendly/barrier.h"
#include "blocking-sync/waiting.h"
#include "common/sites.h"

#define SLEEPERS 1u
#define PHASE 2u

static uint32_t phase_of(uint64_t word) { return (uint32_t)(word >> 32); }

static uint64_t with_phase(uint32_t phase, uint32_t arrived) {
  return (uint64_t)phase << 32 | arrived;
}

/* Returns the half of barrier->word_ that contains the phase. It is the futex
 * on which threads sleep. */
static uint32_t *phase_word(vf_barrier *barrier) {
  return (uint32_t *)&barrier->word_ +
         (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

static uint64_t load(const vf_barrier *barrier) {
  return __atomic_load_n(&barrier->word_, __ATOMIC_ACQUIRE);
}

static bool is_over(uint64_t word, uint32_t phase) {
  return (int32_t)((phase_of(word) & ~SLEEPERS) - phase) > 0;
}

static void wait_for_end(vf_barrier *barrier, uint32_t phase,
                         struct vf_visit *visit) {
  uint64_t word = load(barrier), state = 0;
  while (!is_over(word, phase) && vf_keep_spinning(&state, NULL))
    word = load(barrier);

  while (!is_over(word, phase)) {
    uint32_t now = phase_of(word);
    if (!(now & SLEEPERS)) {
      uint64_t marked = with_phase(now | SLEEPERS, (uint32_t)word);
      if (!__atomic_compare_exchange_n(&barrier->word_, &word, marked, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        word = load(barrier);
        continue;
      }
    }
    vf_visit_slept(visit);
    vf_futex_wait_until(phase_word(barrier), now | SLEEPERS, NULL,
                        vf_scope(barrier->flags_));
    word = load(barrier);
  }
}

/* Ends the phase and wakes the sleepers. The compare-and-swap can be relaxed,
 * because the acquire load before it has synchronized with all arrivals of the
 * phase. barrier->word_ changes only by read-modify-writes, so a thread that
 * reads the new phase also synchronizes with each of these arrivals. */
static void end(vf_barrier *barrier, uint32_t phase) {
  enum vf_scope scope = vf_scope(barrier->flags_);
  uint64_t word = load(barrier), next;
  do
    next = with_phase(phase + PHASE, (uint32_t)word - barrier->threads_);
  while (!__atomic_compare_exchange_n(&barrier->word_, &word, next, false,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  if (phase_of(word) & SLEEPERS)
    vf_futex_wake(phase_word(barrier), INT_MAX, scope);
}

VF_API int vf_barrier_init(vf_barrier *barrier, unsigned flags,
                           unsigned threads) {
  if (!vf_flags_are_good(flags) || threads == 0)
    return EINVAL;
  *barrier = (vf_barrier){0, 0, threads, flags};
  return 0;
}

VF_API int vf_barrier_destroy(vf_barrier *barrier) {
  while (__atomic_load_n(&barrier->inside_, __ATOMIC_ACQUIRE) != 0)
    vf_yield();
  return 0;
}

VF_API int vf_barrier_wait(vf_barrier *barrier) {
  __atomic_fetch_add(&barrier->inside_, 1, __ATOMIC_RELAXED);
  uint64_t word = __atomic_fetch_add(&barrier->word_, 1, __ATOMIC_RELEASE);
  uint32_t before = (uint32_t)word, threads = barrier->threads_;
  uint32_t phase = (phase_of(word) & ~SLEEPERS) + PHASE * (before / threads);
  bool last = before % threads == threads - 1;
  struct vf_visit visit = vf_visit_begin(last ? 0 : VF_CALLER);
  if (last) {
    wait_for_end(barrier, phase - PHASE, &visit); /* Usually over. */
    end(barrier, phase);
  } else {
    wait_for_end(barrier, phase, &visit);
  }
  vf_visit_end(&visit);
  __atomic_fetch_sub(&barrier->inside_, 1, __ATOMIC_RELEASE);
  return last ? VF_BARRIER_LAST : 0;
}
