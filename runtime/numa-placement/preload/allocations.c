/*===- numa-placement/preload/allocations.c - Placing large allocations ----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A NUMA policy belongs to a mapping and ends with it. libc's malloc gives each
 * large block a mapping of its own, which free unmaps together with the policy,
 * so free is not replaced. Blocks of other allocators may share a mapping and
 * are left alone, like the mappings that such an allocator makes for its heap.
 *===----------------------------------------------------------------------===*/

#include "numa-placement/preload/allocations.h"
#include "common/process_wide.h"
#include "common/sandbox.h"
#include "numa-placement/machine.h"
#include "numa-placement/preload/next.h"
#include "numa-placement/preload/settings.h"
#include "vfriendly/numa.h"
#include <gnu/libc-version.h>
#include <string.h>

/* Largest value of libc's M_MMAP_THRESHOLD on 64-bit machines, half of libc's
 * HEAP_MAX_SIZE: larger blocks always get a mapping of their own. */
#define MOST_MMAP_THRESHOLD ((size_t)32 << 20)

/* libc's own functions, under names that only libraries with their own malloc
 * interpose. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static bool find_libc(uint32_t *known) {
  bool is = vf_module_of((const void *)free) ==
            vf_module_of((const void *)gnu_get_libc_version);
  __atomic_store_n(known, is ? 1 : 2, __ATOMIC_RELAXED);
  return is;
}

/* Returns true if libc's malloc is the one in use: a library that replaces
 * malloc replaces free as well. */
static inline bool is_libc(void) {
  static uint32_t known; /* 1: yes, 2: no. Threads write the same. */
  uint32_t now = __atomic_load_n(&known, __ATOMIC_RELAXED);
  return __builtin_expect(now != 0, 1) ? now == 1 : find_libc(&known);
}

void vf_numa_prepare_allocations(size_t least) {
  if (is_libc())
    mallopt(M_MMAP_THRESHOLD,
            (int)(least < MOST_MMAP_THRESHOLD ? least : MOST_MMAP_THRESHOLD));
}

/* The header that libc writes before each block: the size of the previous
 * block, which for a block with a mapping of its own is the padding at the
 * start of the mapping, and the size of this block with flags. */
struct chunk {
  size_t padding;
  size_t size_and_flags;
};
enum { CHUNK_FLAGS = 7, CHUNK_IS_MAPPED = 2 };

/* Sets *mapping to the mapping that contains only this block. Returns false if
 * the block has no mapping of its own. If libc's header had another layout, the
 * computed borders would not be aligned to pages, and the result would be
 * false. */
static bool is_alone(const void *block, struct vf_pages *mapping) {
  if (!is_libc())
    return false; /* There may be no readable memory before the block. */
  const struct chunk *chunk = (const struct chunk *)block - 1;
  uintptr_t mask = vf_numa_machine_here().page - 1;
  uintptr_t begin = (uintptr_t)chunk - chunk->padding;
  uintptr_t end =
      (uintptr_t)chunk + (chunk->size_and_flags & ~(size_t)CHUNK_FLAGS);
  *mapping = (struct vf_pages){(char *)begin, end - begin};
  return (chunk->size_and_flags & CHUNK_IS_MAPPED) &&
         ((begin | end) & mask) == 0;
}

__attribute__((weak)) int omp_get_max_threads(void);

/* Returns true if the caller is OpenMP's runtime, which may hold locks of its
 * own while it allocates. VF_NUMA_BLOCKS asks that runtime for the nodes of its
 * threads and would wait for those locks. */
static bool is_openmp(const void *caller) {
  return vf_numa_settings.policy == VF_NUMA_BLOCKS && omp_get_max_threads &&
         vf_module_of(caller) ==
             vf_module_of((const void *)omp_get_max_threads);
}

static void place(void *memory, size_t size, const void *caller) {
  /* True while the library asks OpenMP for the nodes of its threads: OpenMP may
   * allocate meanwhile. */
  static __thread bool busy __attribute__((tls_model("initial-exec")));
  if (busy || is_openmp(caller) || !vf_begin_optional())
    return;
  busy = true;
  /* Without VF_NUMA_EARLY, vf_numa_place may start an OpenMP team to touch the
   * pages. A program does not expect an allocation to start threads. */
  vf_numa_place(memory, size, vf_numa_settings.policy | VF_NUMA_EARLY);
  busy = false;
  vf_end_optional();
}

static inline bool is_large(size_t size) {
  return __builtin_expect(
      size >= __atomic_load_n(&vf_numa_settings.least, __ATOMIC_ACQUIRE), 0);
}

/* Places the whole mapping, including the page of the block's header. If that
 * page had another policy, there would be two mappings, which realloc's mremap
 * cannot move. */
static __attribute__((noinline)) void place_block(void *block,
                                                  const void *caller) {
  struct vf_pages mapping;
  if (!block)
    return;
  if (!is_alone(block, &mapping)) {
    vf_count_numa_preload(VF_NUMA_SHARE_HEAP);
    return;
  }
  vf_count_numa_preload(VF_NUMA_BLOCKS_SEEN);
  place(mapping.begin, mapping.size, caller);
}

static void *allocated(void *block, size_t size, const void *caller) {
  if (is_large(size))
    place_block(block, caller);
  return block;
}

#define CALLER __builtin_return_address(0)

VF_API void *malloc(size_t size) {
  void *block = is_libc() ? __libc_malloc(size) : vf_numa_next()->malloc(size);
  return allocated(block, size, CALLER);
}

VF_API void *calloc(size_t n, size_t size) {
  size_t all;
  void *block =
      is_libc() ? __libc_calloc(n, size) : vf_numa_next()->calloc(n, size);
  return __builtin_mul_overflow(n, size, &all) ? block
                                               : allocated(block, all, CALLER);
}

/* Returns true if libc's realloc would copy the block, and touch the new memory
 * before it can be placed: a block in the heap, and one whose mapping is split
 * into a part for each node. */
static bool is_copied(void *block, size_t size) {
  struct vf_pages mapping;
  if (!is_alone(block, &mapping))
    return true;
  return vf_numa_settings.policy == VF_NUMA_BLOCKS &&
         size > malloc_usable_size(block);
}

VF_API void *realloc(void *block, size_t size) {
  if (!is_libc())
    return vf_numa_next()->realloc(block, size);
  if (!is_large(size) || !block || !is_copied(block, size))
    return allocated(__libc_realloc(block, size), size, CALLER);
  void *result = allocated(__libc_malloc(size), size, CALLER);
  if (result) {
    size_t has = malloc_usable_size(block);
    memcpy(result, block, has < size ? has : size);
    __libc_free(block);
  }
  return result;
}

VF_API int posix_memalign(void **block, size_t alignment, size_t size) {
  int error = vf_numa_next()->posix_memalign(block, alignment, size);
  if (error == 0)
    allocated(*block, size, CALLER);
  return error;
}

VF_API void *aligned_alloc(size_t alignment, size_t size) {
  return allocated(vf_numa_next()->aligned_alloc(alignment, size), size,
                   CALLER);
}

VF_API void *memalign(size_t alignment, size_t size) {
  return allocated(vf_numa_next()->memalign(alignment, size), size, CALLER);
}

VF_API void *valloc(size_t size) {
  return allocated(vf_numa_next()->valloc(size), size, CALLER);
}

VF_API void *pvalloc(size_t size) {
  return allocated(vf_numa_next()->pvalloc(size), size, CALLER);
}

/* Returns true for memory that the program may write at once. Leaves out
 * address space that is only reserved, stacks that the kernel extends, and huge
 * pages of hugetlbfs, which no policy may split. */
static bool is_memory(int protection, int flags) {
  const int others = MAP_GROWSDOWN | MAP_HUGETLB | MAP_STACK;
  return (flags & MAP_ANONYMOUS) && !(flags & others) &&
         (protection & PROT_WRITE);
}

static __attribute__((noinline)) void
place_mapping(void *memory, size_t size, int flags, const void *caller) {
  if (flags & (MAP_POPULATE | MAP_LOCKED)) {
    vf_count_numa_preload(VF_NUMA_TOUCHED_BY_MMAP);
    return;
  }
  /* Leaves out a mapping that the allocator makes for its heap, because small
   * blocks will be allocated in this mapping. */
  if (!is_libc() && vf_module_of(caller) == vf_module_of((const void *)free)) {
    vf_count_numa_preload(VF_NUMA_SHARE_HEAP);
    return;
  }
  vf_count_numa_preload(VF_NUMA_MAPPINGS_SEEN);
  place(memory, size, caller);
}

VF_API void *mmap(void *address, size_t size, int protection, int flags,
                  int file, off_t at) {
  void *memory =
      vf_numa_next()->mmap(address, size, protection, flags, file, at);
  if (is_large(size) && memory != MAP_FAILED && is_memory(protection, flags))
    place_mapping(memory, size, flags, CALLER);
  return memory;
}

/* mmap64 is the same function as mmap, as off_t has 64 bits. */
VF_API void *mmap64(void *address, size_t size, int protection, int flags,
                    int file, off_t at) __attribute__((alias("mmap")));
