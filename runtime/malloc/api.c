/*===- malloc/api.c - libvfmalloc's functions -----------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * jemalloc's functions, and around them the work that must not be done inside
 * jemalloc.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "malloc/cpu_cache.h"
#include "malloc/early.h"
#include "malloc/helper.h"
#include "malloc/hysteresis.h"
#include "malloc/jemalloc.h"
#include "malloc/large.h"
#include "malloc/libc_code.h"
#include "malloc/own.h"
#include "malloc/pages.h"
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Number of bytes that a thread may free before it notifies the helper thread.
 * The helper does not know about up to this many freed bytes of each thread. A
 * notification takes 40 ns, negligible for this amount. */
#define TOLD_BYTES ((uint64_t)256 << 10)

/* The thread-local storage model initial-exec avoids calls of __tls_get_addr.
 * It requires that the library is loaded when the program starts. */
#define VF_THREAD __thread __attribute__((tls_model("initial-exec")))

/* Number of notifications that a new thread leaves out as long as the process
 * has at most EARLY_BYTES of memory. Of EARLY_BYTES, 2 MB are for slabs, of
 * which a process with few small blocks touches only a page for each size; the
 * rest is too little memory to return. */
#define EARLY_TOLDS 64
#define EARLY_BYTES (VF_WORTH + ((size_t)2 << 20))

/* Counts of this thread, in bytes: freed at the last notification of the
 * helper; the count that triggers the next notification; and the maximum that
 * the thread may have held (allocated less freed) since the helper last
 * examined memory. */
static VF_THREAD struct {
  uint64_t told, told_at;
  int64_t most;
  unsigned early;
} own = {0, TOLD_BYTES, 0, 0};

/* Notifies the helper of freed memory. Ignores calls in which libc frees the
 * memory of a thread that has ended: jemalloc has torn down its state of the
 * thread too, and most of its functions would set it up again; libc also holds
 * the lock of all stacks, which pthread_create takes. */
static __attribute__((noinline)) void tell(const void *caller) {
  uint64_t freed = vf_jemalloc_freed();
  if (own.early < EARLY_TOLDS && vf_pages_around() <= EARLY_BYTES) {
    ++own.early;
    own.told_at = freed + TOLD_BYTES;
    return;
  }
  if (vf_is_libc_code(caller))
    return;
  int saved = errno;
  int64_t has = (int64_t)(vf_jemalloc_allocated() - freed);
  /* The most that the thread can have held since the last notification: what it
   * holds now, and all that it has freed since. */
  int64_t had = has + (int64_t)(freed - own.told);
  if (own.most < had)
    own.most = had;
  own.told = freed;
  own.told_at = freed + TOLD_BYTES;
  if (vf_helper_tell((size_t)(own.most - has)))
    own.most = has;
  errno = saved;
}

/* Returns true if the thread has freed so much that it must notify. */
static inline bool must_tell(void) {
  return __builtin_expect(vf_jemalloc_freed() >= own.told_at, 0);
}

static inline __attribute__((always_inline)) void count_freed(void) {
  if (must_tell())
    tell(__builtin_return_address(0));
}

/* Called after an allocation. If it has failed, releases memory that other
 * arenas and the CPUs' caches keep, or that is being returned to the kernel,
 * and returns true: the caller should try again. */
static bool is_worth_another(const void *result, size_t size) {
  if (__builtin_expect(result != NULL, 1) || size > PTRDIFF_MAX)
    return false;
  vf_giving_stop();
  vf_cpu_cache_empty();
  vf_jemalloc_release();
  return true;
}

/* Returns the result of the second attempt to allocate; there is no third
 * attempt. Lets other threads return memory to the kernel again. */
static void *another(void *result) {
  vf_giving_resume();
  return result;
}

/* Returns a kept block with at least `size` bytes, or NULL. */
static inline void *kept(size_t size) {
  return __builtin_expect(vf_cpu_cache_has_size(size), 0)
             ? vf_cpu_cache_take(size)
             : NULL;
}

static bool is_power_of_2(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

/* The same for an alignment, which kept blocks have if it is not larger than a
 * page; NULL if the alignment is not valid. */
static void *kept_aligned(size_t alignment, size_t size) {
  return is_power_of_2(alignment) && alignment <= VF_CPU_CACHE_ALIGNMENT
             ? kept(size)
             : NULL;
}

/* A kept block frees no memory, but its thread may be the only one that
 * examines free memory. So it notifies, too, after 16 times as many bytes. */
#define KEPT_SHIFT 4

bool vf_malloc_keeps(void *block, size_t usable_size) {
  if (!vf_cpu_cache_put(block, usable_size))
    return false;
  size_t part = usable_size >> KEPT_SHIFT;
  own.told_at -= part < own.told_at ? part : own.told_at;
  return true;
}

void *vf_malloc_kept(size_t size) { return kept(size); }

/* Keeps a block for later requests instead of freeing it. Returns false if the
 * caller must free it: it has none of the sizes that are kept, enough blocks
 * are kept, or jemalloc must do it. */
static bool keep(void *p) {
  return p && vf_jemalloc_is_plain() && vf_malloc_keeps(p, vf_je_sallocx(p, 0));
}

static inline bool may_be_kept(const void *p) {
  return __builtin_expect((uintptr_t)p % VF_CPU_CACHE_ALIGNMENT == 0, 0);
}

void *vf_malloc_retry(size_t size) {
  if (!is_worth_another(NULL, size))
    return NULL;
  return another(vf_je_mallocx(size ? size : 1, 0));
}

static inline void *malloc_new(size_t size) {
  void *p = vf_je_malloc(size);
  return VF_JEMALLOC_IS_PATCHED || p ? p : vf_malloc_retry(size);
}

/* Takes a kept block, or calls jemalloc. Not inlined: malloc needs no stack
 * then. */
static __attribute__((noinline)) void *malloc_large(size_t size) {
  void *p = vf_cpu_cache_take(size);
  return p ? p : malloc_new(size);
}

/* jemalloc.patch looks for a kept block itself, outside of its fast path. */
VF_API void *malloc(size_t size) {
  return !VF_JEMALLOC_IS_PATCHED &&
                 __builtin_expect(vf_cpu_cache_has_size(size), 0)
             ? malloc_large(size)
             : malloc_new(size);
}

static void *zeroed(size_t size) {
  void *p = malloc_new(size);
  if (p) {
    int saved = errno;
    vf_large_clear(p, size);
    errno = saved;
  }
  return p;
}

VF_API void *calloc(size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  if (bytes >= VF_LARGE_CLEAR)
    return zeroed(bytes);
  void *p = kept(bytes);
  if (p)
    return memset(p, 0, bytes);
  if (vf_early_is_open() && (p = vf_early_alloc(bytes)))
    return p;
  p = vf_je_calloc(n, size);
  return is_worth_another(p, bytes) ? another(vf_je_calloc(n, size)) : p;
}

/* Acts as realloc for blocks whose pages are cheaper to move than to copy.
 * Returns NULL in all other cases, or if there is no memory; p is unchanged
 * then. The block is not enlarged in place: it would then consist of several
 * mappings, and later moves would have to move each mapping by itself. */
static void *grow_large(void *p, size_t size) {
  if (size < VF_LARGE_MOVE || !p)
    return NULL;
  size_t has = vf_je_malloc_usable_size(p);
  if (has < VF_LARGE_MOVE || size <= has)
    return NULL;
  void *result = vf_je_aligned_alloc(VF_LARGE_ALIGNMENT, size);
  if (!result)
    return NULL;
  int saved = errno;
  vf_large_move(result, vf_je_malloc_usable_size(result), p, has);
  errno = saved;
  vf_je_free(p);
  return result;
}

/* Acts as realloc for a block of early.h, and for none before jemalloc has to
 * start. */
static void *move_early(void *p, size_t size) {
  if (!p)
    return vf_je_malloc(size);
  if (size == 0)
    return NULL;
  size_t has = vf_early_size(p);
  void *result = size <= has ? p : vf_je_malloc(size);
  return result && result != p ? memcpy(result, p, has) : result;
}

VF_API void *realloc(void *p, size_t size) {
  if (vf_is_early(p) || (!p && vf_early_is_open()))
    return move_early(p, size);
  void *result = grow_large(p, size);
  if (!result)
    result = vf_je_realloc(p, size);
  if (size != 0 && is_worth_another(result, size))
    result = another(vf_je_realloc(p, size));
  /* jemalloc 5.3 does not set errno. If size is 0, p has been freed. */
  if (!result && (size != 0 || !p))
    errno = ENOMEM;
  count_freed();
  return result;
}

void vf_malloc_has_freed(const void *caller) {
  if (must_tell())
    tell(caller);
}

/* Does all of jemalloc.patch's work. Not inlined, as free would then save
 * registers in each call. */
static __attribute__((noinline)) void free_slowly(void *p, const void *caller) {
  if (!may_be_kept(p) || !keep(p))
    vf_je_free(p);
  vf_malloc_has_freed(caller);
}

/* Ends in a tail call: jemalloc.patch then finds this function's caller. With
 * Debian's archive, the count is read before the block is freed, so the next
 * call notifies of a block that reaches TOLD_BYTES. That block is small, since
 * may_be_kept is true of each that is kept. */
VF_API void free(void *p) {
  if (!VF_JEMALLOC_IS_PATCHED &&
      __builtin_expect(may_be_kept(p) || must_tell(), 0))
    free_slowly(p, __builtin_return_address(0));
  else
    vf_je_free(p);
}

VF_API int posix_memalign(void **p, size_t alignment, size_t size) {
  void *block =
      alignment >= sizeof(void *) ? kept_aligned(alignment, size) : NULL;
  if (block) {
    *p = block;
    return 0;
  }
  int error = vf_je_posix_memalign(p, alignment, size);
  if (error == ENOMEM && is_worth_another(NULL, size)) {
    error = vf_je_posix_memalign(p, alignment, size);
    another(NULL);
  }
  /* errno is set as in glibc, because programs test it. */
  if (error == ENOMEM)
    errno = ENOMEM;
  return error;
}

static void *aligned_otherwise(size_t alignment, size_t size);

/* Inline: one that is called by all would save registers for the rare case. */
static inline void *aligned(size_t alignment, size_t size) {
  void *p = kept_aligned(alignment, size);
  if (!p)
    p = vf_je_aligned_alloc(alignment, size);
  return __builtin_expect(p != NULL, 1) ? p
                                        : aligned_otherwise(alignment, size);
}

/* From glibc: an alignment is rounded up to the next power of two. */
static void *aligned_up(size_t alignment, size_t size) {
  if (alignment > SIZE_MAX / 2 + 1) {
    errno = EINVAL;
    return NULL;
  }
  size_t power = sizeof(void *);
  while (power < alignment)
    power *= 2;
  return aligned(power, size);
}

/* glibc's aligned_alloc is memalign before version 2.38, and later fails as C
 * says. */
static __attribute__((noinline)) void *aligned_otherwise(size_t alignment,
                                                         size_t size) {
  if (is_power_of_2(alignment))
    return is_worth_another(NULL, size)
               ? another(vf_je_aligned_alloc(alignment, size))
               : NULL;
  if (strverscmp(gnu_get_libc_version(), "2.38") < 0)
    return aligned_up(alignment, size);
  errno = EINVAL;
  return NULL;
}

VF_API void *aligned_alloc(size_t alignment, size_t size) {
  return aligned(alignment, size);
}

VF_API void *memalign(size_t alignment, size_t size) {
  return aligned_up(alignment, size);
}

/* jemalloc's valloc does not set errno if there is no memory. */
VF_API void *valloc(size_t size) {
  return aligned_up((size_t)sysconf(_SC_PAGESIZE), size);
}

/* From glibc: the size is rounded up to whole pages. */
VF_API void *pvalloc(size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (size > SIZE_MAX - page) {
    errno = ENOMEM;
    return NULL;
  }
  return aligned_up(page, (size + page - 1) & ~(page - 1));
}

VF_API size_t malloc_usable_size(void *p) {
  return vf_is_early(p) ? vf_early_size(p) : vf_je_malloc_usable_size(p);
}

#define VF_OWN(name) __typeof(name) vf_own_##name __attribute__((alias(#name)));
VF_OWN_FUNCTIONS
#undef VF_OWN

/* glibc's second names of its functions. A program that replaces some of the
 * functions above calls these for the memory: it is then of the same heap as
 * the blocks of those that the program does not replace. They must not call the
 * functions above by name, which may be the program's. */
VF_API void *__libc_malloc(size_t size) { return vf_own_malloc(size); }
VF_API void *__libc_calloc(size_t n, size_t size) {
  return vf_own_calloc(n, size);
}
VF_API void *__libc_realloc(void *p, size_t size) {
  return vf_own_realloc(p, size);
}
VF_API void __libc_free(void *p) { vf_own_free(p); }
VF_API void *__libc_memalign(size_t alignment, size_t size) {
  return vf_own_memalign(alignment, size);
}
VF_API void *__libc_valloc(size_t size) { return vf_own_valloc(size); }
VF_API void *__libc_pvalloc(size_t size) { return vf_own_pvalloc(size); }

/* From glibc: returns all free memory, the padding included; the result is 1 if
 * any was returned. */
VF_API int malloc_trim(size_t pad) {
  (void)pad;
  return vf_give_all() != 0;
}

/* jemalloc's own functions. Programs that are linked with jemalloc mix them
 * with the functions above, so both must use the same heap. */
VF_API void *mallocx(size_t size, int flags) {
  return vf_je_mallocx(size, flags);
}

VF_API void *rallocx(void *p, size_t size, int flags) {
  if (!vf_is_early(p))
    return vf_je_rallocx(p, size, flags);
  size_t has = vf_early_size(p);
  void *result = vf_je_mallocx(size, flags);
  return result ? memcpy(result, p, has < size ? has : size) : NULL;
}

VF_API size_t xallocx(void *p, size_t size, size_t extra, int flags) {
  return vf_is_early(p) ? vf_early_size(p)
                        : vf_je_xallocx(p, size, extra, flags);
}

VF_API size_t sallocx(const void *p, int flags) {
  return vf_is_early(p) ? vf_early_size(p) : vf_je_sallocx(p, flags);
}

VF_API void dallocx(void *p, int flags) {
  if (vf_is_early(p))
    return;
  vf_je_dallocx(p, flags);
  count_freed();
}

VF_API void sdallocx(void *p, size_t size, int flags) {
  if (vf_is_early(p))
    return;
  vf_je_sdallocx(p, size, flags);
  count_freed();
}

VF_API size_t nallocx(size_t size, int flags) {
  return vf_je_nallocx(size, flags);
}

VF_API int mallctl(const char *name, void *old, size_t *old_size, void *value,
                   size_t size) {
  return vf_je_mallctl(name, old, old_size, value, size);
}

VF_API int mallctlnametomib(const char *name, size_t *mib, size_t *length) {
  return vf_je_mallctlnametomib(name, mib, length);
}

VF_API int mallctlbymib(const size_t *mib, size_t length, void *old,
                        size_t *old_size, void *value, size_t size) {
  return vf_je_mallctlbymib(mib, length, old, old_size, value, size);
}

VF_API void malloc_stats_print(void (*write)(void *, const char *),
                               void *context, const char *options) {
  vf_je_malloc_stats_print(write, context, options);
}
