/*===- preload/spin_lock.c - libc's spin locks, which yield and sleep -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The word has libc's format: 1 is free on x86-64, where libc tries to take the
 * lock by a decrement, so that a process without this library may leave a
 * negative value; elsewhere 0 is free. Every unlock stores it. The word does
 * not tell whether another process uses the lock, so a notify may never come:
 * vf_spin_wait limits each sleep, and learns for which addresses no thread
 * notifies.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "preload/libc.h"
#include "preload/statistics.h"
#include "relax.h"
#include "vfriendly/spin_wait.h"
#include <errno.h>

enum { FREE = VF_LIBC_SPIN_FREE, HELD = !VF_LIBC_SPIN_FREE };

static bool take(pthread_spinlock_t *lock) {
  int word = FREE;
  return __atomic_compare_exchange_n(lock, &word, HELD, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

static __attribute__((noinline)) int lock_slowly(pthread_spinlock_t *lock) {
  uint64_t state = 0;
  do {
    int word;
    while ((word = __atomic_load_n(lock, __ATOMIC_RELAXED)) != FREE) {
      if (vf_is_on(VF_SPIN_LOCKS))
        state = vf_spin_wait(lock, (uint32_t)word, state,
                             sizeof *lock | VF_SPIN_NOTIFIED | VF_SPIN_UNSEEN);
      else
        vf_relax(); /* libc does the same. */
    }
  } while (!take(lock));
  if (state != 0)
    vf_count_preload(VF_PRELOAD_SPIN_LOCK_WAITS);
  return 0;
}

VF_API int pthread_spin_lock(pthread_spinlock_t *lock) {
  return __builtin_expect(take(lock), 1) ? 0 : lock_slowly(lock);
}

VF_API int pthread_spin_trylock(pthread_spinlock_t *lock) {
  return take(lock) ? 0 : EBUSY;
}

VF_API int pthread_spin_unlock(pthread_spinlock_t *lock) {
  __atomic_store_n(lock, FREE, __ATOMIC_RELEASE);
  vf_spin_notify_if_waiting(lock);
  return 0;
}
