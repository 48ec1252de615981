/*===- malloc/caller.h - The hysteresis in the thread that frees ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Where there is no helper thread (helper.h): a free looks when it is time to,
 * and at once when much became free, as nobody looks if it was the last one.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_CALLER_H
#define VFRIENDLY_MALLOC_CALLER_H

#include <stdbool.h>
#include <stddef.h>

/* The caller's blocks have become less by `drained` bytes since this last
 * returned true, which it does after it looked at the arenas. Opens no files,
 * and asks the kernel for nothing but its clocks before it gives memory back.
 */
bool vf_caller_look(size_t drained);

/* Around a fork, in the child. */
void vf_caller_after_fork(void);

#endif /* VFRIENDLY_MALLOC_CALLER_H */
