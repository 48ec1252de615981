/*===- malloc/space.h - Address space -------------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Maps and unmaps whole pages. The functions preserve errno.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_SPACE_H
#define VFRIENDLY_MALLOC_SPACE_H

#include <stdbool.h>
#include <stddef.h>

/* Maps address space. Returns NULL if the kernel refuses. */
void *vf_space_map(size_t size);

/* Unmaps a part of a mapping. Returns false if the kernel cannot split it, or
 * must not be asked (common/sandbox.h). */
bool vf_space_unmap(void *start, size_t size);

/* Returns how many bytes of free memory may stay mapped: any number, unless the
 * process has a limit (RLIMIT_AS, RLIMIT_DATA). Under a limit other code,
 * especially for thread stacks, needs the address space that we keep. The
 * limits are those that the last call of vf_space_map has read. */
size_t vf_space_spare(void);

#endif /* VFRIENDLY_MALLOC_SPACE_H */
