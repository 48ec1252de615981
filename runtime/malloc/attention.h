/*===- malloc/attention.h - What is to be done between calls --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_ATTENTION_H
#define VFRIENDLY_MALLOC_ATTENTION_H

#include <stdbool.h>
#include <sys/single_threaded.h>

/* True until the first call of the allocator. */
extern bool vf_is_new;
/* True until the first check that finds a second thread. */
extern bool vf_is_for_one_thread;

/* Install our hooks in jemalloc: the first function while the process has one
 * thread, the second for any number of threads. They must not be called from
 * inside the allocator. */
void vf_set_up(void);
void vf_set_up_all(void);

/* Must be called before other threads allocate, or soon after. */
static inline void vf_set_up_for_threads(void) {
  if (!__libc_single_threaded &&
      __atomic_load_n(&vf_is_for_one_thread, __ATOMIC_RELAXED))
    vf_set_up_all();
}

#endif /* VFRIENDLY_MALLOC_ATTENTION_H */
