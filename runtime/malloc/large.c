/*===- malloc/large.c - Large blocks, cleared and moved by the kernel -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A block is moved in two steps. The first moves its pages to a place that the
 * kernel chooses, and leaves the block's own addresses mapped and empty
 * (MREMAP_DONTUNMAP, Linux 5.7). It fails, with nothing changed, if the block
 * consists of several mappings, which growing in place leaves, or if the kernel
 * does not support it. The second moves the pages to their new place and
 * replaces the mapping there, up to the end of the new block, so that the new
 * block is a single mapping and its next move takes two calls again. With a
 * single step, a failure would leave a hole there, which another thread's mmap
 * could use before it is closed.
 *===----------------------------------------------------------------------===*/

#include "malloc/large.h"
#include "common/sandbox.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Maximum number of attempts to move the mappings of one block, a microsecond
 * or two each. A block that has grown in place from 16 MiB to a gigabyte
 * consists of 25 mappings, and each takes an attempt that fails and one that
 * succeeds. A block with more mappings is copied in part. */
#define TRIES_MAX 64

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Lets the kernel clear whole pages. Returns false if it cannot, as for locked
 * memory, or must not be asked. */
static bool clear_pages(char *first, char *end) {
  if (first >= end || !vf_begin_optional())
    return false;
  bool good = madvise(first, (size_t)(end - first), MADV_DONTNEED) == 0;
  vf_end_optional();
  return good;
}

void vf_large_clear(void *start, size_t size) {
  size_t page = page_size();
  char *from = start, *to = from + size;
  char *first = (char *)(((uintptr_t)from + page - 1) & ~(page - 1));
  char *end = (char *)((uintptr_t)to & ~(page - 1));
  if (!clear_pages(first, end)) {
    memset(start, 0, size);
    return;
  }
  memset(from, 0, (size_t)(first - from));
  memset(end, 0, (size_t)(to - end));
}

/* Moves whole pages with mremap; the mapping at `to` becomes to_size bytes
 * long. Returns false and changes nothing if that is impossible. */
static bool move_pages(char *to, size_t to_size, char *from, size_t size) {
  void *between =
      mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
  if (between == MAP_FAILED)
    return false;
  if (mremap(between, size, to_size, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
      MAP_FAILED) {
    /* Here mremap has failed. Either there are too many mappings, which the
     * kernel detects before it unmaps `to`, or the kernel ran out of memory
     * after it had unmapped `to`. */
    mmap(to, to_size, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    memcpy(to, between, size);
    munmap(between, size);
  }
  return true;
}

/* Returns the largest size of a block below this one; jemalloc has four sizes
 * between two powers of 2. */
static size_t size_below(size_t size) {
  unsigned log2 = 63u - (unsigned)__builtin_clzll((uint64_t)size - 1);
  return (size - 1) & ~(((size_t)1 << (log2 - 2)) - 1);
}

/* Splits a range that cannot be moved at once, until each part is one mapping.
 * A block that grew in place has one mapping for each step of its growth. The
 * last part gets the rest of the new block. */
static void move(char *to, size_t to_size, char *from, size_t size, size_t page,
                 int *tries) {
  if (size >= VF_LARGE_CLEAR && --*tries >= 0) {
    if (move_pages(to, to_size, from, size))
      return;
    size_t first = size_below(size) & ~(page - 1);
    move(to, first, from, first, page, tries);
    move(to + first, to_size - first, from + first, size - first, page, tries);
    return;
  }
  memcpy(to, from, size);
}

void vf_large_move(void *to, size_t to_size, void *from, size_t size) {
  size_t page = page_size();
  int tries = TRIES_MAX;
  if ((((uintptr_t)to | to_size | (uintptr_t)from | size) & (page - 1)) != 0 ||
      !vf_begin_optional()) {
    memcpy(to, from, size);
    return;
  }
  move(to, to_size, from, size, page, &tries);
  vf_end_optional();
}
