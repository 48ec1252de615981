/*===- numa-placement/preload/allocations.h - Placing large allocations ----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_NUMA_PLACEMENT_PRELOAD_ALLOCATIONS_H
#define VFRIENDLY_NUMA_PLACEMENT_PRELOAD_ALLOCATIONS_H

#include <stddef.h>

/* Makes libc's malloc map blocks of at least this size one by one. */
void vf_numa_prepare_allocations(size_t least);

#endif /* VFRIENDLY_NUMA_PLACEMENT_PRELOAD_ALLOCATIONS_H */
