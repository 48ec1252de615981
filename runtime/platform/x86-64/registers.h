/*===- platform/x86-64/registers.h - Registers of an interrupted thread ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_REGISTERS_H
#define VFRIENDLY_PLATFORM_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

/* Numbered as the processor does: A, C, D, B, SP, BP, SI, DI, 8 to 15. */
#define VF_REGISTERS 16

struct vf_registers {
  uint64_t reg[VF_REGISTERS], ip, flags;
  uint64_t thread; /* the thread pointer */
};

/* Returns the registers that a signal handler of the calling thread was given.
 */
static inline struct vf_registers vf_registers_of(const ucontext_t *context) {
  static const unsigned char order[VF_REGISTERS] = {
      REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  const greg_t *from = context->uc_mcontext.gregs;
  struct vf_registers to;
  for (unsigned i = 0; i != VF_REGISTERS; ++i)
    to.reg[i] = (uint64_t)from[order[i]];
  to.ip = (uint64_t)from[REG_RIP];
  to.flags = (uint64_t)from[REG_EFL];
  to.thread = (uint64_t)(uintptr_t)__builtin_thread_pointer();
  return to;
}

#endif /* VFRIENDLY_PLATFORM_REGISTERS_H */
