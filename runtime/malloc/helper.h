/*===- malloc/helper.h - The thread that gives memory back ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * There is none before so much is free for the first time that it is worth a
 * thought, none in a forked child before that happens there, and it sleeps
 * without a timer while there is little. All its signals are blocked.
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

/* Starts it if it is wanted and not there. Not from where the allocator is at
 * work: it allocates. */
void vf_helper_start(void);

/* Gives all back that is free, now, in the caller. Returns the bytes. */
size_t vf_helper_give_all(void);

struct vf_helper_counts vf_helper_counts(void);

/* Around a fork, outside of vf_pages'. */
void vf_helper_before_fork(void);
void vf_helper_after_fork(bool is_child);

#endif /* VFRIENDLY_MALLOC_HELPER_H */
