/*===- platform/riscv64/relax.h - One spin-wait hint ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Emits the PAUSE instruction of Zihintpause as a data word, so that no -march
 * option is needed: it is encoded as a FENCE hint, which cores without the
 * extension execute as a no-op.
 *
 * A test assembles this code and checks its encoding
 * (test/spin-loops/runtime/relax.test); this project has never executed it.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_RELAX_H
#define VFRIENDLY_PLATFORM_RELAX_H

static inline void vf_relax(void) {
  __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
}

#endif /* VFRIENDLY_PLATFORM_RELAX_H */
