/*===- malloc/caller.h - Hysteresis in the freeing thread -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Used if there is no helper thread (helper.h): a call of free examines the
 * arenas when the time for the next look has come, and immediately if much
 * memory became free, because no later call may follow.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_CALLER_H
#define VFRIENDLY_MALLOC_CALLER_H

#include <stdbool.h>
#include <stddef.h>

/* Reports that the caller's blocks have shrunk by `drained` bytes since the
 * last call that returned true. Returns true if it examined the arenas. Opens
 * no files, and makes no system call except for clocks before it returns
 * memory. */
bool vf_caller_look(size_t drained);

/* Resets the state in the child process after a fork. */
void vf_caller_after_fork(void);

#endif /* VFRIENDLY_MALLOC_CALLER_H */
