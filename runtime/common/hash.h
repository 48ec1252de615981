/*===- common/hash.h - Hash of an address ---------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_HASH_H
#define VFRIENDLY_COMMON_HASH_H

#include <stdint.h>

/* Returns a hash below 1 << log2 that is the same for all addresses within
 * eight bytes. Fibonacci hashing, because addresses in arrays differ only in a
 * few middle bits. */
static inline uint64_t vf_hash(const volatile void *address, unsigned log2) {
  uint64_t key = (uint64_t)(uintptr_t)address >> 3;
  return key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - log2);
}

#endif /* VFRIENDLY_COMMON_HASH_H */
