/*===- malloc/large.h - Large blocks, cleared and moved by the kernel -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What a program never touches of a large block costs nothing: calloc does not
 * write zeros to it, and realloc does not copy it. Errno may change.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_LARGE_H
#define VFRIENDLY_MALLOC_LARGE_H

#include <stddef.h>

/* Minimum size in bytes at which memory is cleared by madvise instead of by
 * writing zeros. Writing this many zeros takes 50 us; the interrupts with which
 * madvise flushes the TLBs of other CPUs cost them less than that. jemalloc
 * itself calls madvise for any whole page. */
#define VF_LARGE_CLEAR ((size_t)1 << 20)
/* Minimum size in bytes from which pages are moved instead of copied. Copying
 * this many bytes takes 3 ms, a hundred times as long as moving them. Each move
 * adds up to three mappings, of which the kernel allows a process 65530. */
#define VF_LARGE_MOVE ((size_t)16 << 20)

/* Makes all bytes read as zero. */
void vf_large_clear(void *start, size_t size);

/* Copies as memcpy does; the contents of `from` are undefined afterwards.
 *
 * pre: the pages of both ranges contain nothing else, and are private and
 * anonymous. */
void vf_large_move(void *to, void *from, size_t size);

#endif /* VFRIENDLY_MALLOC_LARGE_H */
