/*===- vfriendly/barrier.h - Threads that wait for each other -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   vf_barrier_init(&all, 0, threads);
 *   ... each thread, each phase:
 *   int last = vf_barrier_wait(&all) == VF_BARRIER_LAST;
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_BARRIER_H
#define VFRIENDLY_BARRIER_H

#include "vfriendly/mutex.h"
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_barrier {
  uint64_t word_;
  uint32_t inside_;
  uint32_t threads_;
  uint32_t flags_;
} vf_barrier;

#define VF_BARRIER_INIT(threads) {0, 0, (threads), 0}

/* vf_barrier_wait returns this to one thread of each phase, the last to arrive.
 */
#define VF_BARRIER_LAST (-1)

/* Initializes a barrier for `threads` threads. pre: *barrier is not in use.
 * Returns EINVAL if threads is 0 or flags is neither 0 nor VF_SHARED. */
int vf_barrier_init(vf_barrier *barrier, unsigned flags, unsigned threads);

/* Destroys the barrier once all threads that it has released have returned from
 * vf_barrier_wait. pre: no thread waits for others to arrive. */
int vf_barrier_destroy(vf_barrier *barrier);

/* Waits until `threads` threads have called this function. More threads may use
 * the barrier: if `threads` threads have already arrived for this phase, the
 * caller waits for the next phase. Returns VF_BARRIER_LAST in the last thread
 * of a phase, and 0 in the others. */
int vf_barrier_wait(vf_barrier *barrier);

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_BARRIER_H */
