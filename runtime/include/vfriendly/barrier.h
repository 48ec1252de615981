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

/* Returned to one thread of each phase, the last one to arrive. */
#define VF_BARRIER_LAST (-1)

/* pre: *barrier is not in use. EINVAL if threads is 0 or flags neither 0 nor
 * VF_SHARED. */
int vf_barrier_init(vf_barrier *barrier, unsigned flags, unsigned threads);

/* Waits until all released threads have left the barrier. pre: no thread waits
 * for others to arrive. */
int vf_barrier_destroy(vf_barrier *barrier);

/* Waits until `threads` threads have called it; more may use the barrier, and
 * those that come while it is full wait for the next phase. Returns
 * VF_BARRIER_LAST in the last of them, and 0 in the others. */
int vf_barrier_wait(vf_barrier *barrier);

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_BARRIER_H */
