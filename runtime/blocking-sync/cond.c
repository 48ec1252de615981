/*===- blocking-sync/cond.c - Conditions whose waiters move to the lock ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A waiter queues for the condition before it releases the mutex, so a later
 * signal finds it. A broadcast moves the waiters to the queue of the mutex,
 * where they sleep. An unlock then wakes one of them at a time, like other
 * waiters for the mutex.
 *
 * A signal wakes its one waiter at once, even though the mutex is usually held
 * at that time: the wake-up takes longer than the rest of the critical section.
 * If the waiter were moved to the mutex too, it would queue after all other
 * waiters there, and each of those needs a wake-up only to find that it has
 * nothing to do. With such moves examples/blocking-sync took 1.2 s; it now
 * takes 0.3 s, and 0.43 s with glibc's conditions.
 *
 * A condition in shared memory (VF_SHARED) has no queue of its own: its word
 * counts signals, and waiters sleep in a futex call until the word changes.
 *===----------------------------------------------------------------------===*/

#include "vfriendly/cond.h"
#include "blocking-sync/mutex.h"
#include "blocking-sync/waiting.h"
#include "common/sites.h"

/* Sets or clears the flag that says that waiters may be queued. In a condition
 * that is not VF_SHARED, cond->word_ is this flag. */
static void set_queued(void *what, bool queued) {
  vf_cond *cond = what;
  __atomic_store_n(&cond->word_, queued, __ATOMIC_RELAXED);
}

struct waiting {
  vf_cond *cond;
  vf_mutex *mutex;
};

static bool queue(void *what, struct vf_waiter *self) {
  struct waiting *waiting = what;
  self->lock = vf_mutex_is_parkable(waiting->mutex) ? waiting->mutex : NULL;
  set_queued(waiting->cond, true);
  return true;
}

static void release_mutex(void *what) {
  struct waiting *waiting = what;
  vf_mutex_unlock(waiting->mutex);
}

static int wait_private(vf_cond *cond, vf_mutex *mutex,
                        const struct vf_deadline *deadline, uintptr_t site) {
  struct vf_waiter self = {0};
  struct waiting waiting = {cond, mutex};
  struct vf_visit visit = vf_visit_begin(site);
  enum vf_wake how =
      vf_park(&self, cond, queue, release_mutex, NULL, &waiting, deadline);
  vf_visit_slept(&visit);
  vf_visit_end(&visit);
  if (self.was_moved) { /* The waiter was signalled, even if that was after the
                           deadline. */
    vf_mutex_lock_moved(mutex, &self, how, site);
    return 0;
  }
  vf_mutex_lock_at(mutex, site);
  return how == VF_WAKE_TIMEOUT ? ETIMEDOUT : 0;
}

static int wait_shared(vf_cond *cond, vf_mutex *mutex,
                       const struct vf_deadline *deadline) {
  uint32_t seen = __atomic_load_n(&cond->word_, __ATOMIC_RELAXED);
  vf_mutex_unlock(mutex);
  int result = vf_futex_wait_until(&cond->word_, seen, deadline, VF_ACROSS);
  vf_mutex_lock(mutex);
  return result == ETIMEDOUT ? ETIMEDOUT : 0;
}

/* Callback of type vf_decide: tells the parking table to wake the first waiter.
 */
static enum vf_wake wake_one(void *cond, const struct vf_waiter *first,
                             bool more) {
  set_queued(cond, more);
  return first ? VF_WAKE_RETRY : VF_WAKE_NONE;
}

static void wake_shared(vf_cond *cond, int n) {
  __atomic_fetch_add(&cond->word_, 1, __ATOMIC_RELAXED);
  vf_futex_wake(&cond->word_, n, VF_ACROSS);
}

static bool may_be_queued(const vf_cond *cond) {
  return __atomic_load_n(&cond->word_, __ATOMIC_RELAXED) != 0;
}

VF_API int vf_cond_init(vf_cond *cond, unsigned flags) {
  if (!vf_flags_are_good(flags))
    return EINVAL;
  *cond = (vf_cond){0, flags};
  return 0;
}

VF_API int vf_cond_destroy(vf_cond *cond) {
  (void)cond;
  return 0;
}

VF_API int vf_cond_wait(vf_cond *cond, vf_mutex *mutex) {
  return cond->flags_ & VF_SHARED ? wait_shared(cond, mutex, NULL)
                                  : wait_private(cond, mutex, NULL, VF_CALLER);
}

VF_API int vf_cond_clockwait(vf_cond *cond, vf_mutex *mutex, clockid_t clock,
                             const struct timespec *at) {
  struct vf_deadline deadline;
  int error = vf_deadline_from(&deadline, clock, at);
  if (error)
    return error;
  return cond->flags_ & VF_SHARED
             ? wait_shared(cond, mutex, &deadline)
             : wait_private(cond, mutex, &deadline, VF_CALLER);
}

VF_API int vf_cond_signal(vf_cond *cond) {
  if (cond->flags_ & VF_SHARED)
    wake_shared(cond, 1);
  else if (may_be_queued(cond))
    vf_unpark_one(cond, wake_one, cond);
  return 0;
}

VF_API int vf_cond_broadcast(vf_cond *cond) {
  if (cond->flags_ & VF_SHARED)
    wake_shared(cond, INT_MAX);
  else if (may_be_queued(cond))
    vf_unpark_all(cond, vf_mutex_may_move, set_queued, cond);
  return 0;
}
