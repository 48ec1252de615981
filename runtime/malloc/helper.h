/*===- malloc/helper.h - The thread that gives memory back ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * There is none in a process that has little, none in a forked child before
 * that frees something, and it sleeps without a timer while nothing is freed.
 * All its signals are blocked.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_HELPER_H
#define VFRIENDLY_MALLOC_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vf_helper_counts {
  uint64_t returns, ranges, calls, bytes, regrets, under_pressure;
};

/* Reads the VF_MALLOC_* variables. Once, before any other of these. */
void vf_helper_configure(void);

/* Something was freed: it has to look, and to be there if that is worth it. Not
 * from where the allocator is at work: it may allocate. Errno may change. */
void vf_helper_tell(void);

/* Gives all back that is free, now, in the caller. Returns the bytes. */
size_t vf_helper_give_all(void);

struct vf_helper_counts vf_helper_counts(void);

/* Around a fork, outside of vf_pages'. */
void vf_helper_before_fork(void);
void vf_helper_after_fork(bool is_child);

#endif /* VFRIENDLY_MALLOC_HELPER_H */
