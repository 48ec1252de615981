/*===- preload/c11.c - C11's mutexes and conditions -----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * These functions call the POSIX functions and translate the results;
 * statistics name the call site of the C11 function. libc's own C11 functions
 * cannot be used, because they call internal functions by names that cannot be
 * interposed.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "common/sites.h"
#include "preload/cond.h"
#include "preload/mutex.h"
#include <errno.h>
#include <pthread.h>
#include <threads.h>

static int as_thrd(int result) {
  switch (result) {
  case 0:
    return thrd_success;
  case EBUSY:
    return thrd_busy;
  case ETIMEDOUT:
    return thrd_timedout;
  case ENOMEM:
    return thrd_nomem;
  default:
    return thrd_error;
  }
}

static pthread_mutex_t *mutex_of(mtx_t *mutex) {
  return (pthread_mutex_t *)mutex;
}

static pthread_cond_t *cond_of(cnd_t *cond) { return (pthread_cond_t *)cond; }

VF_API int mtx_lock(mtx_t *mutex) {
  return as_thrd(vf_mutex_lock_at(mutex_of(mutex), VF_CALLER));
}

VF_API int mtx_trylock(mtx_t *mutex) {
  return as_thrd(vf_mutex_trylock_at(mutex_of(mutex), VF_CALLER));
}

VF_API int mtx_timedlock(mtx_t *restrict mutex,
                         const struct timespec *restrict at) {
  return as_thrd(vf_mutex_timedlock_at(mutex_of(mutex), at, VF_CALLER));
}

VF_API int mtx_unlock(mtx_t *mutex) {
  return as_thrd(pthread_mutex_unlock(mutex_of(mutex)));
}

VF_API int cnd_wait(cnd_t *cond, mtx_t *mutex) {
  return as_thrd(vf_cond_wait_at(cond_of(cond), mutex_of(mutex), VF_CALLER));
}

VF_API int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex,
                         const struct timespec *restrict at) {
  return as_thrd(
      vf_cond_timedwait_at(cond_of(cond), mutex_of(mutex), at, VF_CALLER));
}

VF_API int cnd_signal(cnd_t *cond) {
  return as_thrd(pthread_cond_signal(cond_of(cond)));
}

VF_API int cnd_broadcast(cnd_t *cond) {
  return as_thrd(pthread_cond_broadcast(cond_of(cond)));
}
