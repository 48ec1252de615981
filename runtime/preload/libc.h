/*===- preload/libc.h - What is known of glibc, and its own functions -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * libvfpthread shares each object with libc, whose functions initialize and
 * destroy them, and unlock, wait and post by themselves. So it must know how
 * libc 2.36 on x86-64 uses the fields, and takes over nothing until libc was
 * asked for its version and seen to use them so (libc.c), of each primitive by
 * itself. That happens at the first call of anything here, which may be earlier
 * than any constructor.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PRELOAD_LIBC_H
#define VFRIENDLY_PRELOAD_LIBC_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

/* The version whose source and machine code the rest was read from. */
#define VF_LIBC_VERSION "2.36"
/* Where its struct pthread has the thread's id, which it writes to __owner. To
 * read it there, as libc does, needs no cache that fork, _Fork, vfork or clone
 * would make stale. */
#define VF_LIBC_TID_OFFSET 0x2d0

/* __kind: the lowest two bits are the type. This bit is set in mutexes made
 * PTHREAD_MUTEX_NORMAL by attribute, mtx_plain among them, to keep them from
 * lock elision, which no kind taken over uses anyway. Any other bit stands for
 * robust, PI, PP, shared between processes or elided. */
#define VF_LIBC_TYPE 3
#define VF_LIBC_NO_ELISION 512

/* __wrefs of conditions: the clock of timedwait, and whether processes share
 * it. The rest counts those who wait inside libc. */
#define VF_LIBC_COND_SHARED 1
#define VF_LIBC_COND_MONOTONIC 2

/* __readers of read-write locks: whether the writers have their turn, whether
 * one has the lock or waits for the readers to leave, and how many these are.
 * One that waits for the lock is counted, too. */
#define VF_LIBC_WRITERS_TURN 1u
#define VF_LIBC_WRITER 2u
#define VF_LIBC_READER 8u

/* How libc uses a pthread_barrier_t. */
struct vf_libc_barrier {
  uint32_t in;    /* arrivals since it was made or started anew */
  uint32_t round; /* the arrivals that rounds ended so far let go */
  uint32_t threads;
  uint32_t shared; /* a futex flag, the opposite of FUTEX_PRIVATE_FLAG */
  uint32_t out;    /* departures, which destroy waits for */
};
/* Arrivals it may count before it starts anew: at the end of the last round
 * below. */
#define VF_LIBC_BARRIER_LIMIT (UINT32_MAX / 2)

/* The half of a sem_t that says what there is to take. */
static inline uint32_t *vf_libc_sem_value(sem_t *sem) {
  return (uint32_t *)sem;
}

/* The bits of vf_libc_mode below: what is taken over. Written once libc is
 * initialized, always with the same value. */
#define VF_DECIDED 1u
#define VF_MUTEXES 2u
#define VF_SPIN_LOCKS 4u
#define VF_CONDS 8u
#define VF_RWLOCKS 16u
#define VF_BARRIERS 32u
#define VF_SEMS 64u
/* Of conditions, also those whose broadcasts wake several. */
#define VF_CROWDS 128u

extern uint32_t vf_libc_mode;

/* Async-signal-safe but for reading the environment; any number of threads may
 * come here at once. Leaves errno as it was. */
uint32_t vf_libc_decide(void);

static inline bool vf_is_on(uint32_t what) {
  uint32_t mode = __atomic_load_n(&vf_libc_mode, __ATOMIC_RELAXED);
  if (__builtin_expect(mode == 0, 0))
    mode = vf_libc_decide();
  return (mode & what) != 0;
}

/* Nobody may change the type of a mutex in use, but libc may set the bit of
 * elision at any time: it then elides no lock that is held, and none of ours.
 */
static inline bool vf_takes_over(const pthread_mutex_t *mutex) {
  int kind = __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
  return (kind & ~(VF_LIBC_TYPE | VF_LIBC_NO_ELISION)) == 0 &&
         vf_is_on(VF_MUTEXES);
}

/* What libc holds to be the id of the calling thread. */
static inline int vf_libc_tid(void) {
  const char *thread = __builtin_thread_pointer();
  return *(const int *)(thread + VF_LIBC_TID_OFFSET);
}

#endif /* VFRIENDLY_PRELOAD_LIBC_H */
