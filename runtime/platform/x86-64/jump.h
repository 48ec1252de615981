/*===- platform/x86-64/jump.h - Functions that only jump ------------------===*
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
  static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  uintptr_t skip =
      memcmp(copy, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
  intptr_t distance = (intptr_t)((uintptr_t)to - ((uintptr_t)at + skip + 5));
  int32_t relative = (int32_t)distance;
  if (relative != distance)
    return false;
  copy[skip] = 0xe9;
  memcpy(copy + skip + 1, &relative, sizeof relative);
  return true;
}

#endif /* VFRIENDLY_PLATFORM_JUMP_H */
