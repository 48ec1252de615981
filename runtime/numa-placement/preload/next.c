/*===- numa-placement/preload/next.c - The functions that are replaced -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "numa-placement/preload/next.h"
#include <dlfcn.h>
#include <errno.h>

struct vf_numa_next vf_numa_next_table;

/* Needs no lock: two concurrent calls write the same values. */
void vf_numa_next_look_up(void) {
  int saved = errno;
#define VF_NUMA_NEXT_LOOK_UP(name)                                             \
  __atomic_store_n(&vf_numa_next_table.name,                                   \
                   (__typeof__(name) *)dlsym(RTLD_NEXT, #name),                \
                   __ATOMIC_RELAXED);
  VF_NUMA_NEXT_FUNCTIONS(VF_NUMA_NEXT_LOOK_UP)
  __atomic_store_n(&vf_numa_next_table.ready, 1, __ATOMIC_RELEASE);
  errno = saved;
}

int _dl_find_object(void *code, struct dl_find_object *object)
    __attribute__((weak));

/* glibc before 2.35 has no _dl_find_object, and dladdr takes the lock of the
 * dynamic linker. */
const void *vf_module_of(const void *code) {
  struct dl_find_object object;
  if (_dl_find_object)
    return _dl_find_object((void *)code, &object) == 0 ? object.dlfo_map_start
                                                       : NULL;
  Dl_info info;
  return dladdr(code, &info) ? info.dli_fbase : NULL;
}
