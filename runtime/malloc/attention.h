/*===- malloc/attention.h - What is to be done between calls --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_ATTENTION_H
#define VFRIENDLY_MALLOC_ATTENTION_H

#include <stdint.h>

/* Set when the process starts; cleared by the first call of the allocator. */
#define VF_ATTEND_SETUP 1u
/* Set when more became free than is worth a thread; cleared by whoever starts
 * one. Late, memory is held for longer. */
#define VF_ATTEND_HELPER 2u

/* Set when more address space is free than may be; cleared by whoever unmaps
 * it. Late, a thread may not find room for its stack. */
#define VF_ATTEND_SPACE 4u

extern uint32_t vf_attention;

/* Does it, or leaves it to a later call if the one from `caller` is none to do
 * so. Not from where the allocator is at work. */
void vf_attend(const void *caller);

#endif /* VFRIENDLY_MALLOC_ATTENTION_H */
