/*===- malloc/api.c - libvfmalloc's functions -----------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * jemalloc's, and before each of them one test: whether there is something to
 * be done that must not be done while jemalloc is at work.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "malloc/attention.h"
#include "malloc/helper.h"
#include "malloc/jemalloc.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static inline __attribute__((always_inline)) void attend(void) {
  if (__builtin_expect(__atomic_load_n(&vf_attention, __ATOMIC_RELAXED), 0))
    vf_attend(__builtin_return_address(0));
}

VF_API void *malloc(size_t size) {
  attend();
  return vf_je_malloc(size);
}

VF_API void *calloc(size_t n, size_t size) {
  attend();
  return vf_je_calloc(n, size);
}

VF_API void *realloc(void *p, size_t size) {
  attend();
  void *result = vf_je_realloc(p, size);
  /* jemalloc 5.3 does not say so. Without a size it has freed p. */
  if (!result && (size != 0 || !p))
    errno = ENOMEM;
  return result;
}

VF_API void free(void *p) {
  vf_je_free(p);
  attend();
}

VF_API int posix_memalign(void **p, size_t alignment, size_t size) {
  attend();
  return vf_je_posix_memalign(p, alignment, size);
}

VF_API void *aligned_alloc(size_t alignment, size_t size) {
  attend();
  return vf_je_aligned_alloc(alignment, size);
}

/* Of glibc: the next power of two serves any alignment. */
VF_API void *memalign(size_t alignment, size_t size) {
  attend();
  if (alignment > SIZE_MAX / 2 + 1) {
    errno = EINVAL;
    return NULL;
  }
  size_t power = sizeof(void *);
  while (power < alignment)
    power *= 2;
  return vf_je_aligned_alloc(power, size);
}

/* jemalloc's leaves errno alone when there is no memory. */
VF_API void *valloc(size_t size) {
  return memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

/* Of glibc: whole pages. */
VF_API void *pvalloc(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (size > SIZE_MAX - page) {
    errno = ENOMEM;
    return NULL;
  }
  return memalign(page, (size + page - 1) & ~(page - 1));
}

VF_API size_t malloc_usable_size(void *p) {
  return vf_je_malloc_usable_size(p);
}

/* Of glibc: what is free goes back, with the padding too; 1 if anything did. */
VF_API int malloc_trim(size_t pad) {
  (void)pad;
  attend();
  return vf_helper_give_all() != 0;
}
