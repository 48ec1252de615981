/*===- numa-placement/preload/next.h - The functions that are replaced -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   return vf_numa_next()->mmap(address, length, protection, flags, file, at);
 *
 * The functions are looked up at the first call, which may come before any
 * constructor has run. allocations.c has the functions that malloc, calloc and
 * realloc call.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_NUMA_PLACEMENT_PRELOAD_NEXT_H
#define VFRIENDLY_NUMA_PLACEMENT_PRELOAD_NEXT_H

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <threads.h>

/* libc's functions, found by dlsym, which returns the newest version of each.
 * The newest versions of functions that take CPU masks also take the size of
 * the mask, as the functions that exports.map exports do. */
#define VF_NUMA_NEXT_FUNCTIONS(X)                                              \
  X(malloc)                                                                    \
  X(calloc)                                                                    \
  X(realloc)                                                                   \
  X(posix_memalign)                                                            \
  X(aligned_alloc)                                                             \
  X(memalign)                                                                  \
  X(valloc)                                                                    \
  X(pvalloc)                                                                   \
  X(mmap)                                                                      \
  X(pthread_create)                                                            \
  X(thrd_create)                                                               \
  X(sched_setaffinity)                                                         \
  X(pthread_setaffinity_np)                                                    \
  X(pthread_attr_setaffinity_np)

struct vf_numa_next {
#define VF_NUMA_NEXT_MEMBER(name) __typeof__(name) *name;
  VF_NUMA_NEXT_FUNCTIONS(VF_NUMA_NEXT_MEMBER)
  uint32_t ready;
};

extern struct vf_numa_next vf_numa_next_table;
void vf_numa_next_look_up(void);

static inline const struct vf_numa_next *vf_numa_next(void) {
  if (__builtin_expect(
          !__atomic_load_n(&vf_numa_next_table.ready, __ATOMIC_ACQUIRE), 0))
    vf_numa_next_look_up();
  return &vf_numa_next_table;
}

/* Returns the address at which the module that contains this code is mapped;
 * NULL if there is none. Takes no lock: an allocator may call mmap with its own
 * locks, for which a thread may wait inside dlopen. */
const void *vf_module_of(const void *code);

#endif /* VFRIENDLY_NUMA_PLACEMENT_PRELOAD_NEXT_H */
