/*===- pool/sizes.h - Which sizes blocks of a pool have -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A freed block serves requests of its class only. Classes are 16 bytes apart
 * up to 512 bytes, then eight to each doubling, so that rounding up costs no
 * more than an eighth. Sizes are those with the tag, in grains.
 *===----------------------------------------------------------------------===*/

#ifndef VF_POOL_SIZES_H
#define VF_POOL_SIZES_H

#include <stddef.h>

/* The alignment that malloc guarantees on every 64-bit target. */
#define VF_GRAIN 16u
/* Minimum size of a block in grains: a tag and the links of a free block. */
#define VF_LEAST_GRAINS 2u
/* Up to this size each size has its own class. */
#define VF_EXACT_GRAINS 32u
#define VF_STEPS_LOG 3
/* 128 KiB: for larger blocks glibc's malloc maps pages for each block. */
#define VF_MOST_GRAINS 8192u
/* 8 doublings from VF_EXACT_GRAINS to VF_MOST_GRAINS. */
#define VF_CLASSES                                                             \
  (VF_EXACT_GRAINS - VF_LEAST_GRAINS + 1 + (8u << VF_STEPS_LOG))

/* pre: VF_LEAST_GRAINS <= grains <= VF_MOST_GRAINS. */
static inline unsigned vf_class_of(size_t grains) {
  if (grains <= VF_EXACT_GRAINS)
    return (unsigned)grains - VF_LEAST_GRAINS;
  /* Returns the number of the doubling: 0 for all sizes up to the first, 1 up
   * to the second, and so on. */
  unsigned last = (unsigned)grains - 1;
  unsigned doubling = 31 - (unsigned)__builtin_clz(last / VF_EXACT_GRAINS);
  unsigned step = (last >> (doubling + 5 - VF_STEPS_LOG)) & 7u;
  return VF_EXACT_GRAINS - VF_LEAST_GRAINS + 1 + (doubling << VF_STEPS_LOG) +
         step;
}

/* Returns the grains of the largest block of the class. */
static inline size_t vf_grains_of(unsigned class) {
  if (class <= VF_EXACT_GRAINS - VF_LEAST_GRAINS)
    return class + VF_LEAST_GRAINS;
  unsigned above = class - (VF_EXACT_GRAINS - VF_LEAST_GRAINS + 1);
  unsigned doubling = above >> VF_STEPS_LOG, step = above & 7u;
  return (size_t)(8u + step + 1) << (doubling + 5 - VF_STEPS_LOG);
}

#endif /* VF_POOL_SIZES_H */
