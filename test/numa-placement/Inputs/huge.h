/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory that huge pages can hold. */

#ifndef VF_TEST_HUGE_H
#define VF_TEST_HUGE_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

/* A mapping that begins with a block of HUGE_PAGE bytes. */
static inline char *map_aligned(size_t size) {
  char *memory = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    abort();
  return (char *)(((uintptr_t)memory + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE);
}

#endif
