/*===- platform/riscv64/relax.h - One spin-wait hint ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Zihintpause's PAUSE, written as the word it is: a FENCE hint that cores
 * without the extension execute as nothing, so no -march is needed.
 *
 * Assembled and its encoding checked by test/spin-loops/runtime/relax.test;
 * never run by this project.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_RELAX_H
#define VFRIENDLY_PLATFORM_RELAX_H

static inline void vf_relax(void) {
  __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
}

#endif /* VFRIENDLY_PLATFORM_RELAX_H */
