/*===- blocking-sync/holder.h - What is known of a mutex's holder ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   holder:  vf_holder_took(mutex, site);     after the acquisition
 *            bool asked = vf_holder_asked(mutex);
 *            ... releases ...
 *            if (asked)
 *              vf_slice_end();
 *   waiter:  if (vf_holder_is_preempted(mutex))
 *              ... blocks instead of spinning ...
 *
 * A holder says who it is (thread_state.h) and where it runs (vcpu_state.h),
 * and requests a longer time slice (slice.h), where these exist, and is counted
 * for statistics (sites.h). All of it are hints: nothing may depend on them.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_BLOCKING_SYNC_HOLDER_H
#define VFRIENDLY_BLOCKING_SYNC_HOLDER_H

#include "common/sites.h"
#include "common/slice.h"
#include "platform/linux/thread_state.h"
#include "platform/linux/vcpu_state.h"
#include "vfriendly/mutex.h"

/* A bit of the time handed_, which as a time means a microsecond: the holder
 * has requested a longer slice. Only the holder reads and writes handed_. */
#define VF_HOLDER_REQUESTED 1u

/* Returns true if acquisitions of a mutex that threads wait for are recorded.
 */
static inline bool vf_holders_are_recorded(void) {
  return vf_thread_states_are_there() || vf_vcpu_states_are_there() ||
         vf_sites_are_on() || vf_slice_is_there();
}

/* Records the acquisition. pre: the caller holds the mutex. */
static inline void vf_holder_took(vf_mutex *mutex, uintptr_t site) {
  if (vf_slice_is_there())
    mutex->handed_ = (mutex->handed_ & ~VF_HOLDER_REQUESTED) |
                     (vf_slice_begin() ? VF_HOLDER_REQUESTED : 0);
  if (vf_thread_states_are_there() || vf_vcpu_states_are_there()) {
    vf_cpu cpu = vf_cpu_plus_1();
    __atomic_store_n(&mutex->holder_cpu_, cpu, __ATOMIC_RELAXED);
    if (vf_thread_states_are_there())
      __atomic_store_n(&mutex->holder_thread_, vf_own_thread(cpu),
                       __ATOMIC_RELAXED);
  }
  if (vf_sites_are_on())
    vf_site_took(site, mutex);
}

/* Returns true if vf_slice_end must follow the release. pre: the caller holds
 * the mutex. */
static inline bool vf_holder_asked(vf_mutex *mutex) {
  bool requested =
      vf_slice_is_there() && (mutex->handed_ & VF_HOLDER_REQUESTED);
  if (requested)
    mutex->handed_ &= ~VF_HOLDER_REQUESTED;
  return requested;
}

/* Returns true if the holder probably cannot release the mutex soon, because it
 * or its vCPU is preempted, or it sleeps. It only ends a spin early, as the
 * budget does, so a wrong answer costs a sleep or a spin. */
static inline bool vf_holder_is_preempted(const vf_mutex *mutex) {
  return (vf_thread_states_are_there() &&
          vf_thread_is_off(
              __atomic_load_n(&mutex->holder_thread_, __ATOMIC_RELAXED))) ||
         (vf_vcpu_states_are_there() &&
          vf_vcpu_is_preempted(
              __atomic_load_n(&mutex->holder_cpu_, __ATOMIC_RELAXED)));
}

#endif /* VFRIENDLY_BLOCKING_SYNC_HOLDER_H */
