/*===- preload/libc.h - glibc's layout and functions ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * libvfpthread shares each object with libc, whose functions also initialize,
 * destroy, unlock, wait for and post it. So this library must know how libc
 * uses the fields. It takes over each kind of object only after it has checked
 * libc's version and observed this use of the fields (libc.c).
 * The checks happen at the first call of any function of this library, possibly
 * before any constructor.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PRELOAD_LIBC_H
#define VFRIENDLY_PRELOAD_LIBC_H

#include "common/process_wide.h"
#include "glibc.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

/* The versions of glibc, 2.N, whose sources the constants below describe. 2.34
 * is the first that contains these functions itself. */
#define VF_LIBC_FIRST 34
#define VF_LIBC_LAST 41

/* The offset from the thread pointer to the thread's id in libc's struct
 * pthread; libc writes this id to __owner. This library reads the id there, as
 * libc does, so it needs no copy that fork, _Fork, vfork or clone would make
 * wrong. Where it is no constant, it is 0 before libc.c has found it. */
#ifdef VF_LIBC_TID_OFFSET
#define vf_libc_tid_offset VF_LIBC_TID_OFFSET
#else
extern VF_HIDDEN int vf_libc_tid_offset;
#endif

/* __kind: the lowest two bits are the type. VF_LIBC_NO_ELISION is set in
 * mutexes that were made PTHREAD_MUTEX_NORMAL by attribute, mtx_plain among
 * them, and disables lock elision, which this library does not use anyway. Any
 * other bit means robust, PI, PP, process-shared or elided. */
#define VF_LIBC_TYPE 3
#define VF_LIBC_NO_ELISION 512

/* Bits of __wrefs of conditions: the clock of timedwait, and whether several
 * processes use the condition; the next bit belongs to pthread_cond_destroy.
 * From VF_LIBC_COND_WAITER on, the bits count the waiters inside libc. */
#define VF_LIBC_COND_SHARED 1
#define VF_LIBC_COND_MONOTONIC 2
#define VF_LIBC_COND_WAITER 8

/* Parts of __readers of read-write locks: whether it is the writers' turn,
 * whether a writer has the lock or waits for the readers to leave, and the
 * number of readers. A reader that waits for the lock is counted too. */
#define VF_LIBC_WRITERS_TURN 1u
#define VF_LIBC_WRITER 2u
#define VF_LIBC_READER 8u

/* glibc's layout of a pthread_barrier_t. */
struct vf_libc_barrier {
  uint32_t in;    /* arrivals since it was initialized or restarted */
  uint32_t phase; /* number of arrivals that ended phases have released */
  uint32_t threads;
  uint32_t shared; /* a flag with the opposite meaning of FUTEX_PRIVATE_FLAG */
  uint32_t out;    /* number of departures; destroy waits until all have left */
};
/* Maximum number of arrivals at a barrier before libc's count starts again from
 * 0, at the end of the last phase below the limit. */
#define VF_LIBC_BARRIER_LIMIT (UINT32_MAX / 2)

/* Returns the half of a sem_t that contains its value. */
static inline uint32_t *vf_libc_sem_value(sem_t *sem) {
  return (uint32_t *)sem;
}

/* Bits of vf_libc_mode below: the primitives that this library handles. Written
 * when libc is initialized, always with the same value. */
#define VF_DECIDED 1u
#define VF_MUTEXES 2u
#define VF_SPIN_LOCKS 4u
#define VF_CONDS 8u
#define VF_RWLOCKS 16u
#define VF_BARRIERS 32u
#define VF_SEMS 64u
/* Whether the library also handles conditions whose broadcasts wake several
 * waiters. */
#define VF_CROWDS 128u
/* Whether the library handles mutexes, counts nothing (without VF_STATS) and
 * requests no longer slices. */
#define VF_QUICK_MUTEXES 256u

extern VF_HIDDEN uint32_t vf_libc_mode;

/* Decides which primitives this library handles. Async-signal-safe except for
 * reading the environment; any number of threads may call it at once. Preserves
 * errno. */
uint32_t vf_libc_decide(void);

static inline bool vf_is_on(uint32_t what) {
  uint32_t mode = __atomic_load_n(&vf_libc_mode, __ATOMIC_RELAXED);
  if (__builtin_expect(mode == 0, 0))
    mode = vf_libc_decide();
  return (mode & what) != 0;
}

/* Returns true if this library handles the mutex. The type of a mutex cannot
 * change while the mutex is in use, but libc may set the elision bit at any
 * time. This is harmless: libc then handles the mutex, and libc does not elide
 * a lock that is held. */
static inline bool vf_takes_over(const pthread_mutex_t *mutex) {
  int kind = __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
  return (kind & ~(VF_LIBC_TYPE | VF_LIBC_NO_ELISION)) == 0 &&
         vf_is_on(VF_MUTEXES);
}

/* Returns the number that libc stores in a mutex as the id of the calling
 * thread. */
static inline int vf_libc_tid(void) {
  const char *thread = __builtin_thread_pointer();
  return *(const int *)(thread + vf_libc_tid_offset);
}

#endif /* VFRIENDLY_PRELOAD_LIBC_H */
