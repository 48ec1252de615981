/*===- preload/libc.h - What is known of glibc, and its own functions -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * libvfpthread shares each mutex with libc, whose conditions unlock and lock it
 * by themselves. So it must know how libc 2.36 on x86-64 uses the fields, and
 * takes over nothing until libc was asked for its version and seen to use them
 * so (libc.c). That happens at the first call of anything here, which may be
 * earlier than any constructor.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PRELOAD_LIBC_H
#define VFRIENDLY_PRELOAD_LIBC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

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

/* Held by vf_libc_mode below; written once libc is initialized, always with the
 * same value. */
enum vf_libc_mode { VF_UNDECIDED, VF_TAKEN_OVER, VF_LEFT_TO_LIBC };

extern uint32_t vf_libc_mode;

/* Async-signal-safe but for reading the environment; any number of threads may
 * come here at once. Leaves errno as it was. */
enum vf_libc_mode vf_libc_decide(void);

static inline bool vf_is_on(void) {
  enum vf_libc_mode mode = __atomic_load_n(&vf_libc_mode, __ATOMIC_RELAXED);
  if (__builtin_expect(mode == VF_UNDECIDED, 0))
    mode = vf_libc_decide();
  return mode == VF_TAKEN_OVER;
}

/* Nobody may change the type of a mutex in use, but libc may set the bit of
 * elision at any time: it then elides no lock that is held, and none of ours.
 */
static inline bool vf_takes_over(const pthread_mutex_t *mutex) {
  int kind = __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
  return (kind & ~(VF_LIBC_TYPE | VF_LIBC_NO_ELISION)) == 0 && vf_is_on();
}

/* What libc holds to be the id of the calling thread. */
static inline int vf_libc_tid(void) {
  const char *thread = __builtin_thread_pointer();
  return *(const int *)(thread + VF_LIBC_TID_OFFSET);
}

/* libc's own, reached by names that nobody interposes: no dlsym. */
int vf_libc_lock(pthread_mutex_t *mutex);
int vf_libc_trylock(pthread_mutex_t *mutex);
int vf_libc_unlock(pthread_mutex_t *mutex);
/* These have no second name. Looked up by the constructor; earlier calls look
 * them up themselves. */
int vf_libc_timedlock(pthread_mutex_t *mutex, const struct timespec *at);
int vf_libc_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                      const struct timespec *at);

#endif /* VFRIENDLY_PRELOAD_LIBC_H */
