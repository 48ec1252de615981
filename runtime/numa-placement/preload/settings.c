/*===- numa-placement/preload/settings.c - Settings and counters -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "numa-placement/preload/settings.h"
#include "vfriendly/numa.h"

struct vf_numa_settings vf_numa_settings = {SIZE_MAX, VF_NUMA_FT};

uint64_t vf_numa_preload_counters[VF_NUMA_PRELOAD_COUNTERS];

void vf_count_numa_preload(enum vf_numa_preload_counter counter) {
  if (vf_get(&vf_spin_shared_1.stats))
    __atomic_fetch_add(&vf_numa_preload_counters[counter], 1, __ATOMIC_RELAXED);
}
