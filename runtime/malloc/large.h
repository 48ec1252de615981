/*===- malloc/large.h - Large blocks, cleared and moved by the kernel -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The parts of a large block that a program never touches cost nothing: calloc
 * does not write zeros to them, and realloc does not copy them. Errno may
 * change.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_LARGE_H
#define VFRIENDLY_MALLOC_LARGE_H

#include <stddef.h>

/* Minimum size in bytes at which memory is cleared by madvise instead of by
 * writing zeros. Writing this many zeros takes 50 us; madvise flushes the TLBs
 * of other CPUs by interrupts, which take less than 50 us of their time.
 * jemalloc itself calls madvise for any whole page. */
#define VF_LARGE_CLEAR ((size_t)1 << 20)
/* Minimum size in bytes from which pages are moved instead of copied. Copying
 * this many bytes to untouched pages takes 2.5 ms, and moving them 50 us. Each
 * move adds up to three mappings, of which the kernel allows a process 65530:
 * not reached before 80 GB of moved blocks. */
#define VF_LARGE_MOVE ((size_t)4 << 20)
/* The alignment of a block to which pages are moved. Between two addresses of
 * this alignment the kernel moves page tables and not single pages. */
#define VF_LARGE_ALIGNMENT ((size_t)2 << 20)

/* Makes all bytes read as zero. */
void vf_large_clear(void *start, size_t size);

/* Copies the `size` bytes of the block `from` to the start of the block `to`,
 * which has to_size bytes. The other bytes of `to`, and the contents of `from`,
 * are undefined afterwards.
 *
 * pre: to_size >= size. The pages of both blocks contain nothing else, and are
 * private and anonymous. */
void vf_large_move(void *to, size_t to_size, void *from, size_t size);

#endif /* VFRIENDLY_MALLOC_LARGE_H */
