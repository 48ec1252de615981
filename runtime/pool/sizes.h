/*===- pool/sizes.h - Size classes of pool blocks -------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A freed block is reused only for requests of its size class. Classes are 16
 * bytes apart up to 512 bytes; above that there are eight classes for each
 * doubling, so rounding up adds at most an eighth. Sizes include the tag and
 * are measured in grains.
 *===----------------------------------------------------------------------===*/

#ifndef VF_POOL_SIZES_H
#define VF_POOL_SIZES_H

#include <stddef.h>

/* The alignment that malloc guarantees on every 64-bit target. */
#define VF_GRAIN 16u
/* Minimum size of a block in grains: a tag and the links of a free block. */
#define VF_LEAST_GRAINS 2u
/* Maximum size, in grains, for which each size has a class of its own. */
#define VF_EXACT_GRAINS 32u
#define VF_STEPS_LOG 3
/* Maximum size, in grains, of a block that is cut from a chunk: 128 KiB. Larger
 * blocks are allocated one by one: from that size on glibc's malloc makes a
 * mapping for each block, whose memory is returned when the block is freed. */
#define VF_MOST_GRAINS 8192u
/* Number of size classes: one for each size up to VF_EXACT_GRAINS, then 8 for
 * each of the 8 doublings up to VF_MOST_GRAINS. */
#define VF_CLASSES                                                             \
  (VF_EXACT_GRAINS - VF_LEAST_GRAINS + 1 + (8u << VF_STEPS_LOG))

/* pre: VF_LEAST_GRAINS <= grains <= VF_MOST_GRAINS. */
static inline unsigned vf_class_of(size_t grains) {
  if (grains <= VF_EXACT_GRAINS)
    return (unsigned)grains - VF_LEAST_GRAINS;
  /* The doubling that contains the size: 0 for sizes up to twice
   * VF_EXACT_GRAINS, 1 up to four times, and so on. */
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
