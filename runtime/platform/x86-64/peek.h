/*===- platform/x86-64/peek.h - Loads that may fault ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The loads of vf_peek stand between two labels. A handler of SIGSEGV and
 * SIGBUS that finds the instruction pointer between them continues at the
 * third, where vf_peek returns 0. The functions use no stack.
 *
 * VF_DEFINE_PEEK defines the functions, in one file.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_PEEK_H
#define VFRIENDLY_PLATFORM_PEEK_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Copies 1, 2, 4 or 8 bytes at `from` to *to by one load. Returns 0 if the load
 * faulted and a handler called vf_peek_fault, otherwise 1. */
int vf_peek_1(void *to, uint64_t from);
int vf_peek_2(void *to, uint64_t from);
int vf_peek_4(void *to, uint64_t from);
int vf_peek_8(void *to, uint64_t from);

extern const char vf_peek_begin[], vf_peek_end[], vf_peek_failed[];

/* If the context is that of a load of vf_peek, lets it fail when the handler
 * returns, and returns true. */
static inline bool vf_peek_fault(ucontext_t *context) {
  greg_t *ip = &context->uc_mcontext.gregs[REG_RIP];
  if (*ip < (greg_t)(uintptr_t)vf_peek_begin ||
      *ip >= (greg_t)(uintptr_t)vf_peek_end)
    return false;
  *ip = (greg_t)(uintptr_t)vf_peek_failed;
  return true;
}

/* clang-format off */
#define VF_PEEK(size, reg)                                                     \
  ".globl vf_peek_" #size "\n"                                                 \
  ".hidden vf_peek_" #size "\n"                                                \
  ".type vf_peek_" #size ", @function\n"                                       \
  "vf_peek_" #size ":\n"                                                       \
  "  .cfi_startproc\n"                                                         \
  "  mov (%rsi), %" #reg "\n"                                                  \
  "  mov %" #reg ", (%rdi)\n"                                                  \
  "  mov $1, %eax\n"                                                           \
  "  ret\n"                                                                    \
  "  .cfi_endproc\n"                                                           \
  ".size vf_peek_" #size ", . - vf_peek_" #size "\n"

#define VF_DEFINE_PEEK                                                         \
  __asm__(".pushsection .text\n"                                               \
          ".globl vf_peek_begin, vf_peek_end, vf_peek_failed\n"                \
          ".hidden vf_peek_begin, vf_peek_end, vf_peek_failed\n"               \
          "vf_peek_begin:\n"                                                   \
          VF_PEEK(1, al) VF_PEEK(2, ax) VF_PEEK(4, eax) VF_PEEK(8, rax)        \
          "vf_peek_end:\n"                                                     \
          "vf_peek_failed:\n"                                                  \
          "  xor %eax, %eax\n"                                                 \
          "  ret\n"                                                            \
          ".popsection\n")
/* clang-format on */

#endif /* VFRIENDLY_PLATFORM_PEEK_H */
