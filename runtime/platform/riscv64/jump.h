/*===- platform/riscv64/jump.h - Functions that only jump -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_JUMP_H
#define VFRIENDLY_PLATFORM_JUMP_H

#include <stdbool.h>

/* Not written for this processor. */
static inline bool vf_write_jump(unsigned char *copy, const void *at,
                                 const void *to) {
  (void)copy, (void)at, (void)to;
  return false;
}

#endif /* VFRIENDLY_PLATFORM_JUMP_H */
