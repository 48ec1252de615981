/*===- spin-wait/relaxed.h - Words that any thread may write --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_RELAXED_H
#define VFRIENDLY_SPIN_WAIT_RELAXED_H

#include <stdint.h>

static inline uint32_t vf_get(const uint32_t *word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void vf_set(uint32_t *word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

#endif /* VFRIENDLY_SPIN_WAIT_RELAXED_H */
