/*===- common/slice.h - Longer time slices for holders --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   took the lock:  bool requested = vf_slice_is_there() && vf_slice_begin();
 *   released it:    if (requested)
 *                     vf_slice_end();
 *
 * Linux 7.0 lets a thread whose time slice ends run for some microseconds more,
 * if it has set a byte of its struct rseq: a holder that finishes its critical
 * section leaves no waiters behind while it has no CPU. The thread gives back
 * what it has been granted by a system call after the release.
 *
 * A request costs two stores, so it is made for locks that threads wait for,
 * not for each. Without the feature all of it is one test, on the path of a
 * thread that had to wait.
 *
 * The kernel says in each thread's struct rseq whether it has the feature: an
 * older one is never asked. libc registers that struct; in a process without it
 * (GLIBC_TUNABLES=glibc.pthread.rseq=0, for a program that registers its own)
 * nothing is requested.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_SLICE_H
#define VFRIENDLY_COMMON_SLICE_H

#include "common/process_wide.h"
#include <stdbool.h>
#include <stddef.h>

/* Of struct rseq, from the thread pointer; 0: there is no such feature. Written
 * once, before there are threads. */
extern VF_HIDDEN ptrdiff_t vf_slice_at;

static inline bool vf_slice_is_there(void) {
  return __builtin_expect(vf_slice_at != 0, 0);
}

/* Requests a longer slice for the holder of a lock. Returns true if
 * vf_slice_end must follow; false if the request of a lock that the caller
 * holds already counts, or the kernel refuses. Preserves errno. pre:
 * vf_slice_is_there(). */
bool vf_slice_begin(void);

/* Takes the request back, and gives up the CPU if the slice was granted. To be
 * called after the release, by the thread that called vf_slice_begin.
 * Preserves errno. */
void vf_slice_end(void);

/* The kernel's side. Tests replace it; not changed otherwise. */
struct vf_slice_kernel {
  /* Enables requests of this thread. Returns false if the kernel refuses; it is
   * not called again then. */
  bool (*enable)(void);
  void (*yield)(void);
};
extern struct vf_slice_kernel vf_slice_kernel;

/* Finds the feature. Called by a constructor, and before that by a lock that is
 * used earlier; once done it has no effect. */
void vf_slice_prepare(void);

/* Sets vf_slice_at if struct rseq, at that offset, says that there is the
 * feature. pre: there are no other threads. */
void vf_slice_find(ptrdiff_t rseq_at);

#endif /* VFRIENDLY_COMMON_SLICE_H */
