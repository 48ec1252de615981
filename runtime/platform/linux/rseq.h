/*===- platform/linux/rseq.h - Where a thread's struct rseq is ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_LINUX_RSEQ_H
#define VFRIENDLY_PLATFORM_LINUX_RSEQ_H

#include <features.h>
#include <stddef.h>

#ifdef __GLIBC__
/* glibc 2.35 registers a struct rseq for each thread. Weak: there are older
 * ones. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

/* Returns the distance of each thread's struct rseq from its thread pointer; 0
 * if libc has registered none. */
static inline ptrdiff_t vf_rseq_at(void) {
  return &__rseq_size && __rseq_size != 0 ? __rseq_offset : 0;
}
#else
static inline ptrdiff_t vf_rseq_at(void) { return 0; }
#endif

#endif /* VFRIENDLY_PLATFORM_LINUX_RSEQ_H */
