/*===- preload/statistics.h - Counters that VF_STATS=1 prints -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PRELOAD_STATISTICS_H
#define VFRIENDLY_PRELOAD_STATISTICS_H

#include "spin-wait/shared.h"

/* Counters, in the order in which they are printed. Each SPINS is followed by
 * the number of successful spins. */
enum vf_preload_counter {
  VF_PRELOAD_SPINS,           /* times a waiter for a mutex spun */
  VF_PRELOAD_SPUN,            /* spins that ended with the lock acquired */
  VF_PRELOAD_SLEEPS,          /* times a waiter for a mutex slept */
  VF_PRELOAD_WAKES,           /* unlocks that woke a waiter */
  VF_PRELOAD_SPIN_LOCK_WAITS, /* waits for a spin lock */
  VF_PRELOAD_COND_SPINS,      /* times a waiter for a condition spun */
  VF_PRELOAD_COND_SPUN,
  VF_PRELOAD_COND_SLEEPS, /* times a waiter for a condition slept */
  VF_PRELOAD_COND_WAKES,  /* times a waiter for a condition was woken from sleep
                           */
  VF_PRELOAD_RWLOCK_SPINS, /* spins before libc's read-write locks */
  VF_PRELOAD_RWLOCK_SPUN,
  VF_PRELOAD_SEM_SPINS, /* spins before libc's semaphores */
  VF_PRELOAD_SEM_SPUN,
  VF_PRELOAD_BARRIER_WAITS,  /* arrivals at a barrier that did not complete a
                                phase */
  VF_PRELOAD_BARRIER_SLEEPS, /* times a waiter at a barrier slept */
  VF_PRELOAD_COUNTERS
};

/* Shared by all copies of the library. */
#define VF_PRELOAD_COUNTERS_SIZE 120
extern VF_API uint64_t vf_preload_counters_1[VF_PRELOAD_COUNTERS];

static inline void vf_count_preload(enum vf_preload_counter counter) {
  if (vf_get(&vf_spin_shared_1.stats))
    __atomic_fetch_add(&vf_preload_counters_1[counter], 1, __ATOMIC_RELAXED);
}

#endif /* VFRIENDLY_PRELOAD_STATISTICS_H */
