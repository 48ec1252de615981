/*===- preload/cond.c - libc's conditions, with a spin before the sleep ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Each wait depends on its mutex: with a mutex that this library has taken
 * over, it queues in our table (queue.h). With any other mutex, or if processes
 * share the condition, or if libc's own functions may signal it (views.c), it
 * waits inside libc. The condition keeps libc's layout.
 * libc's pthread_cond_destroy need not know our waiters, because they do not
 * access the condition after they are woken.
 *
 * A signal examines the table and, if no thread waits there, calls libc. It
 * reads the table by one relaxed load, which loses no wake-up: a waiter enters
 * the queue before it releases the mutex. A signalling thread that must find
 * this waiter has locked the mutex later, or has synchronized with a thread
 * that has, so the waiter's store to the queue happened before the load. A
 * signal that is not ordered after the release of the mutex may come before the
 * wait, here as in libc.
 *
 * If broadcasts wake several waiters, later waits also go to libc (queue.h), so
 * both queues may contain waiters of one condition. A signal then wakes one of
 * each. If it woke only one from the table and that one were cancelled, the
 * signal would be lost for a waiter inside libc: the cancelled thread cannot
 * call libc, because the condition may have been destroyed meanwhile. POSIX
 * allows a signal to wake several threads.
 *
 * A signal to both queues and a broadcast call libc first, because a thread
 * woken from the table may free the condition at once. A broadcast wakes its
 * waiters one after another, each woken by the previous one, because all of
 * them need the same mutex; libc would wake all, and most would sleep again for
 * the mutex. As long as no woken thread has to wait for the mutex, each wakes
 * two others. This relies on the woken threads to continue, as libc's own
 * signal relies on its woken threads to leave the futex.
 *
 * A thread spins if it is the first in the queue when it arrives, because it
 * gets the next signal.
 *
 * The wait is a cancellation point when it is called and while it sleeps. A
 * cancelled thread leaves the table and, if it has already been signalled,
 * wakes another waiter in the table. A signal handler must not jump out of the
 * wait: its waiter would stay queued, as it would stay counted in libc.
 *===----------------------------------------------------------------------===*/

#include "preload/cond.h"
#include "blocking-sync/waiting.h"
#include "common/process_wide.h"
#include "common/sites.h"
#include "preload/libc.h"
#include "preload/mutex.h"
#include "preload/next.h"
#include "preload/queue.h"
#include "preload/spin.h"
#include "spin-wait/tuning.h"

static const struct vf_spin_kind spins = {VF_PRELOAD_COND_SPINS, VF_SPIN_EVENT};

struct wait {
  struct vf_queued self;
  const void *cond;
  pthread_mutex_t *mutex;
  uintptr_t site;
};

/* Reads the flags, and the number of waiters inside libc, without a lock: the
 * flags cannot change while a thread waits. */
static uint32_t flags_of(const pthread_cond_t *cond) {
  return __atomic_load_n(&cond->__data.__wrefs, __ATOMIC_RELAXED);
}

static bool takes_over(const pthread_cond_t *cond) {
  return vf_is_on(VF_CONDS) && !(flags_of(cond) & VF_LIBC_COND_SHARED);
}

/* Returns true if a thread waits inside libc. Misses no waiter whose release of
 * the mutex happens before this call. */
static bool libc_has_waiters(const pthread_cond_t *cond) {
  return flags_of(cond) >= VF_LIBC_COND_WAITER;
}

/* Returns true if this wait uses the queue of this library, and false if it
 * uses libc's queue. Threads that signal always examine both queues. */
static inline __attribute__((always_inline)) bool
waits_here(const pthread_cond_t *cond, const pthread_mutex_t *mutex) {
  return takes_over(cond) && vf_takes_over(mutex) && !vf_queue_is_closed() &&
         (vf_is_on(VF_CROWDS) || !vf_queue_draws_crowds(cond));
}

/* Wakes the next waiters of the broadcast that woke this one, if any. */
static void pass_on(const struct wait *wait, int n) {
  if (wait->self.passes_on)
    vf_queue_pass_on(wait->cond, wait->mutex, n);
}

static int lock_again(struct wait *wait) {
  bool had_to_wait = false;
  int result = vf_mutex_lock_again(wait->mutex, &had_to_wait, wait->site);
  pass_on(wait, had_to_wait ? 1 : 2);
  return result;
}

static void on_cancel(void *arg) {
  struct wait *wait = arg;
  if (vf_queue_leave(&wait->self, wait->cond) == VF_LEFT_WOKEN &&
      !wait->self.passes_on)
    vf_queue_wake_one(wait->cond);
  lock_again(wait);
}

static bool is_woken(void *parked) {
  return vf_parked_state(parked) == VF_PARKED_WOKEN;
}

/* Makes cancellation asynchronous during the sleep, as libc's own sleep does;
 * this is safe because the thread holds no lock meanwhile. ThreadSanitizer's
 * instrumentation would take locks, so it is disabled for this function. */
__attribute__((disable_sanitizer_instrumentation)) static int
sleep_cancellably(uint32_t *state, const struct vf_deadline *deadline) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  int result =
      vf_futex_wait_until(state, VF_PARKED_ASLEEP, deadline, VF_PRIVATE);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
  return result;
}

/* Sleeps until the waiter self is woken. Returns true if that happened before
 * the deadline. */
static bool sleep_until(struct wait *wait, const struct vf_deadline *deadline) {
  struct vf_parked *parked = &wait->self.parked;
  int result;
  vf_count_preload(VF_PRELOAD_COND_SLEEPS);
  pthread_cleanup_push(on_cancel, wait);
  do
    result = sleep_cancellably(&parked->state, deadline);
  while (result != ETIMEDOUT && !is_woken(parked));
  pthread_cleanup_pop(0);
  if (result == 0 && parked->woken_at != 0)
    vf_woke_since(parked->woken_at);
  return result != ETIMEDOUT;
}

/* Leaves the table for libc's queue: the table was closed since the caller
 * asked whether it may wait there. pre: the caller still holds the mutex; type
 * is its own cancellation type. */
static int wait_in_libc(struct wait *wait, pthread_cond_t *cond,
                        const struct vf_deadline *deadline, int type) {
  bool waits = vf_queue_leave(&wait->self, cond) == VF_LEFT_WAITING;
  pass_on(wait, 2);
  pthread_setcanceltype(type, NULL);
  return !waits     ? 0
         : deadline ? vf_next()->pthread_cond_clockwait(
                          cond, wait->mutex, deadline->clock, &deadline->at)
                    : vf_next()->pthread_cond_wait(cond, wait->mutex);
}

/* Waits in our queue. pre: the library handles both the condition and the
 * mutex. deadline may be null. */
static int wait_for(pthread_cond_t *cond, pthread_mutex_t *mutex,
                    const struct vf_deadline *deadline, uintptr_t site) {
  if (!vf_mutex_may_unlock(mutex))
    return EPERM;
  /* Tests for cancellation before the wait: a waiter whose spin always succeeds
   * would otherwise never be cancelled. The thread holds the mutex, as POSIX
   * demands on cancellation. */
  pthread_testcancel();
  /* Disables cancellation, whatever the caller's setting: a waiter can be
   * cancelled only while it sleeps, because it can then leave the queue. */
  int type;
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  struct wait wait = {.cond = cond, .mutex = mutex, .site = site};
  struct vf_visit visit = vf_visit_begin(site);
  bool behind = vf_queue_enter(&wait.self, cond, mutex);
  if (vf_queue_is_closed())
    return wait_in_libc(&wait, cond, deadline, type);
  vf_mutex_unlock_to_wait(mutex);
  /* From here on another thread may destroy the condition as soon as self is
   * WOKEN. */
  struct vf_parked *parked = &wait.self.parked;
  int result = 0;
  bool spun = !behind && vf_spin(cond, &spins, is_woken, parked, deadline);
  if (!spun && (vf_parked_fall_asleep(parked) || !is_woken(parked))) {
    vf_visit_slept(&visit);
    if (!sleep_until(&wait, deadline) &&
        vf_queue_leave(&wait.self, cond) == VF_LEFT_WAITING)
      result = ETIMEDOUT;
  }
  vf_visit_end(&visit);
  int error = lock_again(&wait);
  if (type != PTHREAD_CANCEL_DEFERRED)
    pthread_setcanceltype(type, NULL);
  return error ? error : result;
}

static int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
                      clockid_t clock, const struct timespec *at,
                      uintptr_t site) {
  struct vf_deadline deadline;
  int error = vf_deadline_from(&deadline, clock, at);
  return error ? error : wait_for(cond, mutex, &deadline, site);
}

int vf_cond_wait_at(pthread_cond_t *cond, pthread_mutex_t *mutex,
                    uintptr_t site) {
  return waits_here(cond, mutex) ? wait_for(cond, mutex, NULL, site)
                                 : vf_next()->pthread_cond_wait(cond, mutex);
}

int vf_cond_timedwait_at(pthread_cond_t *cond, pthread_mutex_t *mutex,
                         const struct timespec *at, uintptr_t site) {
  if (!waits_here(cond, mutex))
    return vf_next()->pthread_cond_timedwait(cond, mutex, at);
  bool monotonic = flags_of(cond) & VF_LIBC_COND_MONOTONIC;
  return wait_until(cond, mutex, monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME,
                    at, site);
}

VF_API int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
  return vf_cond_wait_at(cond, mutex, VF_CALLER);
}

VF_API int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *at) {
  return vf_cond_timedwait_at(cond, mutex, at, VF_CALLER);
}

VF_API int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  clockid_t clock, const struct timespec *at) {
  return waits_here(cond, mutex)
             ? wait_until(cond, mutex, clock, at, VF_CALLER)
             : vf_next()->pthread_cond_clockwait(cond, mutex, clock, at);
}

VF_API int pthread_cond_signal(pthread_cond_t *cond) {
  bool ours = takes_over(cond), both = ours && libc_has_waiters(cond);
  if (ours && !both && vf_queue_wake_one(cond))
    return 0;
  int result = vf_next()->pthread_cond_signal(cond);
  if (both)
    vf_queue_wake_one(cond);
  return result;
}

VF_API int pthread_cond_broadcast(pthread_cond_t *cond) {
  bool ours = takes_over(cond);
  int result = vf_next()->pthread_cond_broadcast(cond);
  if (ours)
    vf_queue_wake_all(cond);
  return result;
}
