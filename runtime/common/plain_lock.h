/*===- common/plain_lock.h - Lock for short critical sections -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A futex lock of one word with three states: free, locked, and locked with
 * sleepers ("Mutex, take 3" in Drepper, Futexes Are Tricky). The other locks
 * use it to protect their internal data, and a vf_mutex with VF_SHARED is such
 * a lock. All of its state is in the word, so it keeps working after a fork,
 * and in processes that map the word at different addresses.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_PLAIN_LOCK_H
#define VFRIENDLY_COMMON_PLAIN_LOCK_H

#include "platform/linux/kernel.h"
#include "relax.h"
#include <stdbool.h>

/* Both values of a held lock include bit 0, so setting bit 0 of a held lock has
 * no effect. vf_mutex_lock sets that bit without reading the word first, in
 * locks shared between processes (VF_SHARED) too. */
enum { VF_FREE, VF_HELD, VF_HELD_SLEEPERS = 3 };

/* Number of pauses before a waiter sleeps. The lock protects queue operations
 * of some 50 ns; 2 us of pauses outlast several. */
#define VF_PLAIN_SPINS 80

static inline bool vf_plain_try(uint32_t *word) {
  uint32_t free = VF_FREE;
  return __atomic_compare_exchange_n(word, &free, VF_HELD, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Sleeps until the caller has acquired the lock (returns 0) or the deadline has
 * passed (returns ETIMEDOUT). */
static inline int vf_plain_sleep(uint32_t *word,
                                 const struct vf_deadline *deadline,
                                 enum vf_scope scope) {
  while (__atomic_exchange_n(word, VF_HELD_SLEEPERS, __ATOMIC_ACQUIRE) !=
         VF_FREE)
    if (vf_futex_wait_until(word, VF_HELD_SLEEPERS, deadline, scope) ==
        ETIMEDOUT)
      return ETIMEDOUT;
  return 0;
}

static inline void vf_plain_lock(uint32_t *word) {
  for (int i = 0; i < VF_PLAIN_SPINS; ++i) {
    if (vf_plain_try(word))
      return;
    vf_relax();
  }
  vf_plain_sleep(word, NULL, VF_PRIVATE);
}

static inline void vf_plain_unlock(uint32_t *word, enum vf_scope scope) {
  if (__atomic_exchange_n(word, VF_FREE, __ATOMIC_RELEASE) == VF_HELD_SLEEPERS)
    vf_futex_wake(word, 1, scope);
}

#endif /* VFRIENDLY_COMMON_PLAIN_LOCK_H */
