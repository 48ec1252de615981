/*===- malloc/give.h - Returning memory to the kernel ---------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_GIVE_H
#define VFRIENDLY_MALLOC_GIVE_H

#include "malloc/pages.h"

struct vf_given {
  size_t bytes;
  uint64_t ranges, calls;
};

/* Gives the largest free, resident ranges of vf_pages back to the kernel, up to
 * this many bytes. */
struct vf_given vf_give_back(size_t bytes);

/* The time that this machine takes to give memory back and to touch it again.
 */
struct vf_costs {
  uint64_t fault_ns; /* per page: to return it and to touch it again */
  uint64_t call_ns;  /* per call for one page, without fault_ns */
};

struct vf_costs vf_give_costs(void);

#endif /* VFRIENDLY_MALLOC_GIVE_H */
