/*===- platform/aarch64/jump.h - Functions that only jump -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_JUMP_H
#define VFRIENDLY_PLATFORM_JUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Writes a jump to `to` into `copy`, a copy of the code of the function at
 * `at`. Returns false if it cannot. */
static inline bool vf_write_jump(unsigned char *copy, const void *at,
                                 const void *to) {
  static const uint32_t bti_c = 0xd503245f;
  uintptr_t skip = memcmp(copy, &bti_c, sizeof bti_c) == 0 ? sizeof bti_c : 0;
  intptr_t distance = (intptr_t)((uintptr_t)to - ((uintptr_t)at + skip));
  if (distance < -(1 << 27) || distance >= 1 << 27)
    return false;
  uint32_t jump = 0x14000000 | ((uint32_t)(distance >> 2) & 0x3ffffff);
  memcpy(copy + skip, &jump, sizeof jump);
  return true;
}

#endif /* VFRIENDLY_PLATFORM_JUMP_H */
