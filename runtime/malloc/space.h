/*===- malloc/space.h - Address space -------------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Whole pages, from the kernel and back. None of these touches errno.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_SPACE_H
#define VFRIENDLY_MALLOC_SPACE_H

#include <stdbool.h>
#include <stddef.h>

/* NULL if there is no more. */
void *vf_space_map(size_t size);

/* False if the kernel cannot note the hole that would make. */
bool vf_space_unmap(void *start, size_t size);

/* How much may stay mapped and free: all there is, unless the process has a
 * limit (RLIMIT_AS, RLIMIT_DATA). Then others of it, threads' stacks first,
 * need what we keep. As it was at the last vf_space_map. */
size_t vf_space_spare(void);

#endif /* VFRIENDLY_MALLOC_SPACE_H */
