/*===- malloc/own.h - libvfmalloc's functions by hidden names --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A program may define functions of the same names as those of api.c; a call by
 * name is then one of the program's.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_OWN_H
#define VFRIENDLY_MALLOC_OWN_H

#include <malloc.h>
#include <stdlib.h>

/* VF_OWN(name) for each function that libc has, too. */
#define VF_OWN_FUNCTIONS                                                       \
  VF_OWN(malloc)                                                               \
  VF_OWN(calloc)                                                               \
  VF_OWN(realloc)                                                              \
  VF_OWN(free)                                                                 \
  VF_OWN(posix_memalign)                                                       \
  VF_OWN(aligned_alloc)                                                        \
  VF_OWN(memalign)                                                             \
  VF_OWN(valloc)                                                               \
  VF_OWN(pvalloc)                                                              \
  VF_OWN(malloc_usable_size)

#define VF_OWN(name)                                                           \
  extern __typeof(name) vf_own_##name __attribute__((visibility("hidden")));
VF_OWN_FUNCTIONS
#undef VF_OWN

#endif /* VFRIENDLY_MALLOC_OWN_H */
