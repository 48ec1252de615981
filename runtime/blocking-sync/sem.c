/*===- blocking-sync/sem.c - Counting semaphores --------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * One 64-bit word contains the value, and above it the number of sleepers. A
 * post is therefore one atomic operation, after which the semaphore is not
 * accessed: the wake-up that may follow uses only its address. (glibc 2.21 does
 * the same.) There is no queue in user space: a post in a signal handler must
 * not need a lock that the interrupted thread holds.
 *===----------------------------------------------------------------------===*/

#include "vfriendly/sem.h"
#include "blocking-sync/waiting.h"
#include "common/sites.h"

#define SLEEPER (UINT64_C(1) << 32)

static uint32_t value_of(uint64_t word) { return (uint32_t)word; }

/* Returns the half of sem->word_ that contains the value. It is the futex on
 * which threads sleep. */
static uint32_t *value_word(vf_sem *sem) {
  return (uint32_t *)&sem->word_ + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* Takes one unit. `sleeper` is SLEEPER if the caller was counted as a sleeper,
 * else 0; it is subtracted from the word in the same step. Returns false if
 * there is no unit. */
static bool take(vf_sem *sem, uint64_t sleeper) {
  uint64_t word = __atomic_load_n(&sem->word_, __ATOMIC_RELAXED);
  while (value_of(word) > 0)
    if (__atomic_compare_exchange_n(&sem->word_, &word, word - 1 - sleeper,
                                    false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return true;
  return false;
}

static int wait(vf_sem *sem, const struct vf_deadline *deadline,
                struct vf_visit *visit) {
  uint64_t state = 0;
  do
    if (take(sem, 0))
      return 0;
  while (vf_keep_spinning(&state, deadline));

  __atomic_fetch_add(&sem->word_, SLEEPER, __ATOMIC_RELAXED);
  vf_visit_slept(visit);
  while (!take(sem, SLEEPER))
    if (vf_futex_wait_until(value_word(sem), 0, deadline,
                            vf_scope(sem->flags_)) == ETIMEDOUT) {
      if (take(sem, SLEEPER))
        return 0; /* The post may have woken only this thread. */
      __atomic_fetch_sub(&sem->word_, SLEEPER, __ATOMIC_RELAXED);
      return ETIMEDOUT;
    }
  return 0;
}

static int visit(vf_sem *sem, const struct vf_deadline *deadline,
                 uintptr_t site) {
  struct vf_visit visit = vf_visit_begin(site);
  int result = wait(sem, deadline, &visit);
  vf_visit_end(&visit);
  if (result == 0 && vf_sites_are_on())
    vf_site_passed(site);
  return result;
}

static bool take_now(vf_sem *sem, uintptr_t site) {
  if (!take(sem, 0))
    return false;
  if (vf_sites_are_on())
    vf_site_passed(site);
  return true;
}

VF_API int vf_sem_init(vf_sem *sem, unsigned flags, unsigned value) {
  if (!vf_flags_are_good(flags) || value > VF_SEM_MAX)
    return EINVAL;
  *sem = (vf_sem){value, flags};
  return 0;
}

VF_API int vf_sem_destroy(vf_sem *sem) {
  (void)sem;
  return 0;
}

VF_API int vf_sem_wait(vf_sem *sem) {
  return take_now(sem, VF_CALLER) ? 0 : visit(sem, NULL, VF_CALLER);
}

VF_API int vf_sem_trywait(vf_sem *sem) { return take(sem, 0) ? 0 : EAGAIN; }

VF_API int vf_sem_clockwait(vf_sem *sem, clockid_t clock,
                            const struct timespec *at) {
  if (take_now(sem, VF_CALLER))
    return 0;
  struct vf_deadline deadline;
  int error = vf_deadline_from(&deadline, clock, at);
  return error ? error : visit(sem, &deadline, VF_CALLER);
}

VF_API int vf_sem_post(vf_sem *sem) {
  enum vf_scope scope = vf_scope(sem->flags_);
  uint64_t word = __atomic_load_n(&sem->word_, __ATOMIC_RELAXED);
  do {
    if (value_of(word) >= VF_SEM_MAX)
      return EOVERFLOW;
  } while (!__atomic_compare_exchange_n(&sem->word_, &word, word + 1, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  if (word >= SLEEPER)
    vf_futex_wake(value_word(sem), 1, scope);
  return 0;
}

VF_API unsigned vf_sem_value(const vf_sem *sem) {
  return value_of(__atomic_load_n(&sem->word_, __ATOMIC_RELAXED));
}
