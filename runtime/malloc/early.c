/*===- malloc/early.c - The first blocks of a process ---------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "malloc/early.h"
#include "malloc/start.h"
#include <stdlib.h>
#include <sys/single_threaded.h>

/* Alignment of each block, and size of the header before it, which has the
 * block's size. */
#define UNIT ((size_t)16)

char vf_early[VF_EARLY_BYTES] __attribute__((aligned(4096)));

/* Bytes used. Set to 0 by the constructor. */
size_t vf_early_used = VF_EARLY_BYTES;

void *vf_early_alloc(size_t size) {
  size_t begin = __atomic_load_n(&vf_early_used, __ATOMIC_RELAXED), at, end;
  do {
    at = begin + UNIT;
    if (!__libc_single_threaded || at > VF_EARLY_BYTES ||
        size > VF_EARLY_BYTES - at) {
      __atomic_store_n(&vf_early_used, VF_EARLY_BYTES, __ATOMIC_RELAXED);
      return NULL;
    }
    /* The block of 0 bytes has an address of its own. */
    end = at + ((size ? size + UNIT - 1 : UNIT) & ~(UNIT - 1));
  } while (!__atomic_compare_exchange_n(&vf_early_used, &begin, end, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  *(size_t *)(void *)(vf_early + at - UNIT) = end - at;
  return vf_early + at;
}

size_t vf_early_size(const void *block) {
  return *(const size_t *)(const void *)((const char *)block - UNIT);
}

/* jemalloc's options may want each block to be filled. */
VF_AT_START __attribute__((constructor(101))) static void open_early(void) {
  if (VF_JEMALLOC_IS_PATCHED && !getenv("MALLOC_CONF"))
    __atomic_store_n(&vf_early_used, 0, __ATOMIC_RELAXED);
}
