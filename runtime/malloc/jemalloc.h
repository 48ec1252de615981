/*===- malloc/jemalloc.h - jemalloc, with its memory from vf_pages --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Its functions, renamed when its archive was copied (CMakeLists.txt).
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_JEMALLOC_H
#define VFRIENDLY_MALLOC_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *vf_je_malloc(size_t size);
void *vf_je_calloc(size_t n, size_t size);
void *vf_je_realloc(void *p, size_t size);
void vf_je_free(void *p);
int vf_je_posix_memalign(void **p, size_t alignment, size_t size);
void *vf_je_aligned_alloc(size_t alignment, size_t size);
size_t vf_je_malloc_usable_size(const void *p);
int vf_je_mallctl(const char *name, void *old, size_t *old_size, void *value,
                  size_t size);
int vf_je_mallctlnametomib(const char *name, size_t *mib, size_t *length);
int vf_je_mallctlbymib(const size_t *mib, size_t length, void *old,
                       size_t *old_size, void *value, size_t size);
void vf_je_malloc_stats_print(void (*write)(void *, const char *),
                              void *context, const char *options);
void *vf_je_mallocx(size_t size, int flags);
void *vf_je_rallocx(void *p, size_t size, int flags);
size_t vf_je_xallocx(void *p, size_t size, size_t extra, int flags);
size_t vf_je_sallocx(const void *p, int flags);
void vf_je_dallocx(void *p, int flags);
void vf_je_sdallocx(void *p, size_t size, int flags);
size_t vf_je_nallocx(size_t size, int flags);
extern const char *vf_je_malloc_conf, *vf_je_malloc_conf_2_conf_harder;

/* The unit in which jemalloc takes memory from vf_pages, as it was configured
 * (cmake/jemalloc.cmake). Blocks below four of these are in slabs, and so in
 * the thread caches that malloc and free look in first. */
#define VF_JEMALLOC_PAGE ((size_t)1 << VF_JEMALLOC_LG_PAGE)

/* jemalloc.patch calls these, outside of all locks and fast paths. With
 * Debian's archive, VF_JEMALLOC_IS_PATCHED is 0, and malloc and free do the
 * same.
 *
 * Return a kept block for malloc's result, or NULL; true if a freed block of
 * this size is kept; and, if malloc has found no memory, its result. */
void *vf_malloc_kept(size_t size);
bool vf_malloc_keeps(void *block, size_t usable_size);
void *vf_malloc_retry(size_t size);
/* Called after each free that was not only an addition to the thread's cache.
 * caller is free's return address. */
void vf_malloc_has_freed(const void *caller);

/* Moves all free memory that the arenas keep to vf_pages. Must not be called
 * from inside the allocator. */
void vf_jemalloc_release(void);

/* Makes jemalloc's data of the calling thread, if it has none. Starts jemalloc.
 */
void vf_jemalloc_have_thread_data(void);

/* To be called before a fork, and after it in the parent and in the child. */
void vf_jemalloc_before_fork(void);
void vf_jemalloc_after_fork(bool is_child);

/* Return the bytes of blocks that the calling thread has allocated and freed.
 * jemalloc counts them in its variable je_tsd_tls; mallctl, which tells where,
 * would set up jemalloc's statistics at its first call, with 40 page faults.
 * So runtime/CMakeLists.txt asks it when libvfmalloc.so is built. */
extern __thread char je_tsd_tls[]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline uint64_t vf_jemalloc_allocated(void) {
  return *(uint64_t *)(void *)(je_tsd_tls + VF_JEMALLOC_ALLOCATED_AT);
}
static inline uint64_t vf_jemalloc_freed(void) {
  return *(uint64_t *)(void *)(je_tsd_tls + VF_JEMALLOC_FREED_AT);
}
/* Returns false in a thread's first call, and in its last ones, after jemalloc
 * has torn down its state of the thread: most functions would set it up again.
 * Also returns false in all calls if an option (zero, junk, xmalloc, utrace)
 * makes jemalloc do more with each block. In each other call, the count of
 * freed bytes at which jemalloc examines the thread's cache, which it stores
 * behind the count itself, is not zero. */
static inline bool vf_jemalloc_is_plain(void) {
  return *(uint64_t *)(void *)(je_tsd_tls + VF_JEMALLOC_FREED_AT + 8) != 0;
}

/* Returns the bytes from vf_pages that jemalloc uses for itself. */
size_t vf_jemalloc_metadata(void);

#endif /* VFRIENDLY_MALLOC_JEMALLOC_H */
