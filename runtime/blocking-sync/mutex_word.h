/*===- blocking-sync/mutex_word.h - The word of a mutex -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The bits of the word:
 *
 * HELD: set by the thread that takes the lock, cleared by the thread that
 * releases it; stays set when the lock is handed over.
 *
 * PARKED: threads are queued in the parking lot. Set and cleared under the
 * bucket's lock. It may be set with no thread queued: an unlock then searches
 * in vain. Failing to set it leaves the queued threads asleep for ever.
 *
 * SPINNING: one waiter is awake and polls, so unlocks need not wake another.
 * Set by that waiter, or by the unlock that wakes it; cleared only by that
 * waiter, when it takes the lock, parks, or naps while no thread is parked.
 * Setting it with no waiter awake leaves parked threads asleep for ever; so it
 * is void in a forked child: GENERATION says in which process it was set.
 *
 * RECORDED: acquisitions are recorded (holder.h), so the inlined part of
 * mutex.h calls the functions of mutex.c each time. Set by init or by a holder
 * that had to wait, which records itself; cleared after UNWANTED unlocks for
 * which nobody waited, if only waiters ask for records.
 *
 * SKIPS: how many unlocks relied on SPINNING, modulo 256. It tells the spinner
 * that it was bypassed. A wrong value costs an examination of the queue, or a
 * nap. Without SPINNING, how many found that nobody waits for a record.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_BLOCKING_SYNC_MUTEX_WORD_H
#define VFRIENDLY_BLOCKING_SYNC_MUTEX_WORD_H

#include "blocking-sync/parking.h"
#include "vfriendly/mutex.h"

#include <stdbool.h>
#include <stdint.h>

#define HELD 1u
#define PARKED 2u
#define SPINNING 4u
#define RECORDED 8u
#define SKIP 0x100u
#define SKIPS 0xff00u
#define GENERATION_SHIFT 16

static inline uint32_t generation_bits(void) {
  return vf_generation() << GENERATION_SHIFT;
}

static inline uint32_t with_spinner(uint32_t word) {
  return (word & ((1u << GENERATION_SHIFT) - 1)) | SPINNING | generation_bits();
}

static inline uint32_t without_spinner(uint32_t word) {
  return word & ((1u << GENERATION_SHIFT) - 1) & ~SPINNING;
}

static inline bool has_spinner(uint32_t word) {
  return (word & SPINNING) &&
         (word & ~((1u << GENERATION_SHIFT) - 1)) == generation_bits();
}

static inline uint32_t load(const vf_mutex *mutex) {
  return __atomic_load_n(&mutex->word_, __ATOMIC_RELAXED);
}

static inline bool change(vf_mutex *mutex, uint32_t *from, uint32_t to,
                          int order) {
  return __atomic_compare_exchange_n(&mutex->word_, from, to, false, order,
                                     __ATOMIC_RELAXED);
}

#endif /* VFRIENDLY_BLOCKING_SYNC_MUTEX_WORD_H */
