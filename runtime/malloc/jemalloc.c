/*===- malloc/jemalloc.c - jemalloc, with its memory from vf_pages --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * jemalloc gets whole pages for any arena through extent hooks, and returns
 * them through these. An arena keeps freed pages until the next look of the
 * helper, or until they are more than VF_DIRTY_BYTES: pages that it has not
 * used again by then become available to all arenas.
 *
 * The functions __wrap_NAME are called in place of functions NAME of jemalloc
 * 5.3 (--wrap of the linker; CMakeLists.txt checks that jemalloc has them).
 * mallctl could install the hooks, too, but only after jemalloc has started,
 * and at the price of 40 page faults in each process.
 *===----------------------------------------------------------------------===*/

#include "malloc/jemalloc.h"
#include "common/plain_lock.h"
#include "malloc/pages.h"
#include <fcntl.h>
#include <jemalloc/jemalloc.h>
#include <sys/syscall.h>
#include <unistd.h>

/* jemalloc's options at startup; MALLOC_CONF can still change them.
 *
 * dirty_decay: an arena gives no memory back by itself. muzzy_decay, retain: an
 * arena that is told to give memory back gives all of it.
 * lg_extent_max_active_fit: an arena reuses a free extent, even one 64 times as
 * large, before it requests more memory. oversize_threshold: all blocks use the
 * same hooks; blocks of 8 MiB and more would otherwise get an arena of their
 * own. trust_madvise: no test at the start whether MADV_DONTNEED clears pages
 * (three system calls and two page faults), as the hooks do not use jemalloc's
 * own calls of it. slab_sizes, in pages: 64 KiB per slab for each size of small
 * blocks, instead of 4 to 28 KiB, so that there are fewer slabs to manage, and
 * four blocks at least; of 14 KiB and more each needs a number of its own.
 * tcache_gc_incr_bytes: a thread trims its cache after a megabyte of
 * allocations and not after 64 KiB, which is three blocks of 20 KB: allocating
 * such a block then takes 44 ns and not 67. Blocks above 32 KiB stay out of the
 * caches (lg_tcache_max), because no other thread can take memory from the
 * cache of a thread that sleeps: with blocks of up to 256 KiB in the caches,
 * eight threads kept 152 MB and not 6. With those to 28 KiB and not 14, which
 * pages of 8 KiB bring, they keep a megabyte more each, and replacing blocks of
 * up to 20 KB takes 108 instructions and not 229. */
#if VF_JEMALLOC_LG_PAGE == 16
#define SLAB_SIZES "1-16384:1|16385-28672:2"
#elif VF_JEMALLOC_LG_PAGE == 13
#define SLAB_SIZES                                                             \
  "1-12288:8|12289-14336:7|14337-16384:8|16385-20480:10|20481-24576:12|"       \
  "24577-28672:14"
#else
#define SLAB_SIZES "1-12288:16|12289-14336:14"
#endif
const char *vf_je_malloc_conf =
    "retain:false,dirty_decay_ms:-1,muzzy_decay_ms:0,"
    "lg_extent_max_active_fit:63,oversize_threshold:0,trust_madvise:true,"
    "tcache_gc_incr_bytes:1048576,"
    "slab_sizes:" SLAB_SIZES;

/* Read after MALLOC_CONF, which cannot change it: with retain:true, some
 * programs crashed (./dev fuzz malloc --seed 501446); the cause
 * is not known. Retaining has no use here, as vf_pages keeps memory for all
 * arenas. */
const char *vf_je_malloc_conf_2_conf_harder = "retain:false";

/* opt.cache_oblivious adds a page to each block of 16 KiB or more, a quarter of
 * the smallest of these blocks, to prevent conflicts in caches of a kind that
 * newer processors do not have. jemalloc 5.3.0 ignores the option (jemalloc
 * #2307), so its internal variable is set when jemalloc computes its sizes, the
 * first step that reads it. */
extern bool je_opt_cache_oblivious;
void __real_je_sz_boot(const void *classes, bool cache_oblivious);
void __wrap_je_sz_boot(const void *classes, bool cache_oblivious) {
  (void)cache_oblivious;
  je_opt_cache_oblivious = false;
  __real_je_sz_boot(classes, false);
}

/* Of free pages an arena keeps at most so many for itself; beyond that, all
 * become available to all arenas at once, and not only at the helper's next
 * look. Four threads with blocks of 8 KB to 1.2 MB then peak at 66 to 71 MB,
 * with 1 MiB at 84 to 87, without a bound at 116 to 120, and with glibc's
 * allocator at 58 to 61. Blocks of 128 KB that nobody touches (listing 7.2)
 * take a third more CPU time, with 1 MiB as well. For jemalloc.patch: with
 * Debian's archive, an arena keeps all until the next look. */
#define VF_DIRTY_BYTES ((size_t)256 << 10)
size_t vf_jemalloc_dirty_pages = VF_DIRTY_BYTES / VF_JEMALLOC_PAGE;

/* The alignment of jemalloc's memory for itself, which it never frees. */
#define METADATA_ALIGNMENT ((size_t)2 << 20)
static size_t metadata;
/* The smallest page size of any machine. */
#define PAGE ((uintptr_t)4096)

size_t vf_jemalloc_metadata(void) {
  return __atomic_load_n(&metadata, __ATOMIC_RELAXED);
}

/* Allocates an extent's descriptor, and writes to the page after it before
 * jemalloc uses that page for more descriptors. jemalloc reads a descriptor
 * before it first writes to it: in an untouched page the read maps the kernel's
 * zero page, and the write then copies that page and interrupts all CPUs that
 * run the process. */
void *__real_je_base_alloc_edata(void *tsdn, void *base);
void *__wrap_je_base_alloc_edata(void *tsdn, void *base) {
  char *edata = __real_je_base_alloc_edata(tsdn, base);
  uintptr_t next = ((uintptr_t)edata | (PAGE - 1)) + 1;
  /* The compare-and-swap writes zero only if it reads zero, because other
   * threads may already use the page. */
  uint32_t zero = 0;
  if (edata && next % METADATA_ALIGNMENT != 0)
    __atomic_compare_exchange_n((volatile uint32_t *)next, &zero, 0, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return edata;
}

/* Replace initializations of memory that is new and zero anyway, so that it
 * stays untouched. They write zeros, except for a state that only assertions
 * read: to 1,200 heaps of extents in each arena (4 page faults), to the six
 * sets of these heaps (7 faults), and to the locks of heap profiles (4
 * faults). */
void __wrap_je_edata_heap_new(void *heap);
void __wrap_je_edata_heap_new(void *heap) { (void)heap; }

void __wrap_je_eset_init(void *set, int state);
void __wrap_je_eset_init(void *set, int state) { (void)set, (void)state; }

extern bool je_opt_prof;
bool __real_je_prof_boot2(void *tsd, void *base);
bool __wrap_je_prof_boot2(void *tsd, void *base);
bool __wrap_je_prof_boot2(void *tsd, void *base) {
  return je_opt_prof && __real_je_prof_boot2(tsd, base);
}

/* Replace what jemalloc calls when it starts: a filter of system calls that was
 * installed before the program began need not allow more than the loader and
 * libc make. Its options in a link, /etc/malloc.conf, are not read. */
ssize_t vf_je_readlink(const char *path, char *target, size_t size);
ssize_t vf_je_readlink(const char *path, char *target, size_t size) {
  (void)path, (void)target, (void)size;
  return -1;
}

/* jemalloc tests whether the kernel has MADV_FREE; the hooks never use it. */
int vf_je_madvise(void *start, size_t size, int advice);
int vf_je_madvise(void *start, size_t size, int advice) {
  (void)start, (void)size, (void)advice;
  return -1;
}

long vf_je_syscall(long number, long a, long b, long c);
long vf_je_syscall(long number, long a, long b, long c) {
#ifdef SYS_open
  if (number == SYS_open)
    return syscall(SYS_openat, AT_FDCWD, a, b, c);
#endif
  return syscall(number, a, b, c);
}

/* Replace the intervals at which jemalloc updates a thread's peak of memory: 64
 * KiB of allocations or of frees, which may be a single block. A thread without
 * such updates still reads its current value in thread.peak.read. The interval
 * is that of tcache_gc_incr_bytes above. */
#define EVENT_BYTES ((uint64_t)1 << 20)
uint64_t __wrap_je_peak_alloc_new_event_wait(void *tsd);
uint64_t __wrap_je_peak_alloc_new_event_wait(void *tsd) {
  (void)tsd;
  return EVENT_BYTES;
}

uint64_t __wrap_je_peak_dalloc_new_event_wait(void *tsd);
uint64_t __wrap_je_peak_dalloc_new_event_wait(void *tsd) {
  (void)tsd;
  return EVENT_BYTES;
}

static void *hook_alloc(extent_hooks_t *hooks, void *at, size_t size,
                        size_t alignment, bool *zero, bool *commit,
                        unsigned arena) {
  (void)hooks, (void)arena;
  *commit = true;
  if (alignment >= METADATA_ALIGNMENT)
    __atomic_fetch_add(&metadata, size, __ATOMIC_RELAXED);
  return vf_pages_take(at, size, alignment, zero);
}

static bool hook_dalloc(extent_hooks_t *hooks, void *start, size_t size,
                        bool committed, unsigned arena) {
  (void)hooks, (void)committed, (void)arena;
  return !vf_pages_put(start, size);
}

static void hook_destroy(extent_hooks_t *hooks, void *start, size_t size,
                         bool committed, unsigned arena) {
  hook_dalloc(hooks, start, size, committed, arena);
}

/* jemalloc's hooks for splitting and merging. Any range may be split, and any
 * two neighbours merged, as all memory is anonymous. Returning false means
 * success. */
static bool hook_split(extent_hooks_t *hooks, void *start, size_t size,
                       size_t first, size_t second, bool committed,
                       unsigned arena) {
  (void)hooks, (void)start, (void)size, (void)first, (void)second;
  (void)committed, (void)arena;
  return false;
}

static bool hook_merge(extent_hooks_t *hooks, void *first, size_t first_size,
                       void *second, size_t second_size, bool committed,
                       unsigned arena) {
  (void)hooks, (void)first, (void)first_size, (void)second, (void)second_size;
  (void)committed, (void)arena;
  return false;
}

static extent_hooks_t hooks = {
    .alloc = hook_alloc,
    .dalloc = hook_dalloc,
    .destroy = hook_destroy,
    .split = hook_split,
    .merge = hook_merge,
};

/* jemalloc's configuration of new arenas, of its type arena_config_t. */
extern const struct arena_config {
  extent_hooks_t *hooks;
  bool for_metadata_too;
} __wrap_je_arena_config_default;
const struct arena_config __wrap_je_arena_config_default = {&hooks, true};

/* Arena 0 takes its hooks from its base, and not from the configuration above.
 */
void *je_b0get(void);
extent_hooks_t *je_base_extent_hooks_set(void *base, extent_hooks_t *hooks);
bool __real_je_base_boot(void *tsdn);
bool __wrap_je_base_boot(void *tsdn) {
  if (__real_je_base_boot(tsdn))
    return true;
  je_base_extent_hooks_set(je_b0get(), &hooks);
  return false;
}

void vf_jemalloc_have_thread_data(void) {
  if (vf_jemalloc_is_plain())
    return;
  /* A block of any size makes them, and an attempt at one. Not by malloc and
   * free, which may use early.h and notify the helper: the caller may hold the
   * lock of vf_giving_stop. */
  void *block = vf_je_mallocx(1, 0);
  if (block)
    vf_je_dallocx(block, 0);
}

/* Held while the arenas give their memory back, and while an arena is reset or
 * destroyed (arena.N.destroy of mallctl), which must not be used meanwhile. A
 * holder takes locks of jemalloc's, but none that a waiter may hold: a
 * program's thread that destroys an arena holds only the lock of mallctl. */
static uint32_t releasing;
/* Whether this thread is the holder: a signal handler may fork then. */
static __thread __attribute__((tls_model("initial-exec"))) bool is_releasing;

static void begin_releasing(void) {
  vf_plain_lock(&releasing);
  is_releasing = true;
}

static void end_releasing(void) {
  is_releasing = false;
  vf_plain_unlock(&releasing, VF_PRIVATE);
}

void __real_je_arena_reset(void *tsd, void *arena);
void __wrap_je_arena_reset(void *tsd, void *arena);
void __wrap_je_arena_reset(void *tsd, void *arena) {
  begin_releasing();
  __real_je_arena_reset(tsd, arena);
  end_releasing();
}

void __real_je_arena_destroy(void *tsd, void *arena);
void __wrap_je_arena_destroy(void *tsd, void *arena);
void __wrap_je_arena_destroy(void *tsd, void *arena) {
  begin_releasing();
  __real_je_arena_destroy(tsd, arena);
  end_releasing();
}

void vf_jemalloc_before_fork(void) {
  if (!is_releasing)
    vf_plain_lock(&releasing);
}

void vf_jemalloc_after_fork(bool is_child) {
  if (is_child)
    releasing = is_releasing ? VF_HELD : VF_FREE;
  else if (!is_releasing)
    vf_plain_unlock(&releasing, VF_PRIVATE);
}

/* What mallctl does for arena.4096.purge; but the first call of mallctl sets up
 * jemalloc's statistics, with 40 page faults. */
void je_arena_decay(void *tsdn, void *arena, bool is_background, bool all);
unsigned je_narenas_total_get(void);
extern void *je_arenas[];

/* jemalloc merges the extents that it gives back, under the lock of the arena's
 * extents, and uses the thread's data to do so. A thread without data would
 * make them there, with memory for the thread's cache from the same arena and
 * so by the same lock. Without the argument tsd, jemalloc would look for the
 * data there. */
void vf_jemalloc_release(void) {
  vf_jemalloc_have_thread_data();
  begin_releasing();
  unsigned n = je_narenas_total_get();
  for (unsigned i = 0; i != n; ++i) {
    void *arena = __atomic_load_n(&je_arenas[i], __ATOMIC_ACQUIRE);
    if (arena)
      je_arena_decay(je_tsd_tls, arena, false, true);
  }
  end_releasing();
}
