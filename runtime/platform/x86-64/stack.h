/*===- platform/x86-64/stack.h - Calling a function on another stack ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_STACK_H
#define VFRIENDLY_PLATFORM_STACK_H

/* Calls function(a, b) with a stack that ends at `top`, which is a multiple of
 * 16. A shadow stack stays the same. */
static inline void vf_call_on_stack(void *top, void (*function)(void *, void *),
                                    void *a, void *b) {
  register void *kept __asm__("rbx");
  __asm__ volatile("mov %%rsp, %%rbx\n\t"
                   "mov %[top], %%rsp\n\t"
                   "call *%[function]\n\t"
                   "mov %%rbx, %%rsp"
                   : "=r"(kept), "+D"(a), "+S"(b)
                   : [top] "r"(top), [function] "r"(function)
                   : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory",
                     "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                     "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                     "xmm13", "xmm14", "xmm15");
  (void)kept;
}

#endif /* VFRIENDLY_PLATFORM_STACK_H */
