/*===- malloc/attention.h - What is to be done between calls --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_ATTENTION_H
#define VFRIENDLY_MALLOC_ATTENTION_H

#include <stdbool.h>

/* Until the first call of the allocator. */
extern bool vf_is_new;

/* Puts our hooks in place. Not from where the allocator is at work. */
void vf_set_up(void);

#endif /* VFRIENDLY_MALLOC_ATTENTION_H */
