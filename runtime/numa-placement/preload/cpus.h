/*===- numa-placement/preload/cpus.h - The CPUs that the process may use ---===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_NUMA_PLACEMENT_PRELOAD_CPUS_H
#define VFRIENDLY_NUMA_PLACEMENT_PRELOAD_CPUS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VF_CPUS 8192 /* Linux's limit on x86-64 */
#define VF_CPU_WORD (sizeof(unsigned long) * CHAR_BIT)

struct vf_cpu_mask {
  unsigned long words[VF_CPUS / VF_CPU_WORD];
};

static inline bool vf_has_cpu(const struct vf_cpu_mask *mask, unsigned cpu) {
  return cpu < VF_CPUS &&
         (mask->words[cpu / VF_CPU_WORD] >> cpu % VF_CPU_WORD & 1);
}

static inline void vf_add_cpu(struct vf_cpu_mask *mask, unsigned cpu) {
  mask->words[cpu / VF_CPU_WORD] |= 1ul << cpu % VF_CPU_WORD;
}

/* Allowed CPUs, those of one node next to each other and nodes in ascending
 * order; CPUs whose node is unknown come last. */
struct vf_cpu_order {
  struct vf_cpu_mask allowed;
  unsigned count; /* 0 if unknown */
  unsigned nodes; /* number of nodes that have these CPUs */
  uint16_t cpu[VF_CPUS];
  uint16_t group[VF_CPUS]; /* node of cpu[i], numbered 0 to nodes - 1 */
};

/* Reads the affinity mask of the calling thread. Called by the constructor, it
 * gets the mask with which the process was started. Later calls do nothing. */
void vf_cpus_remember(void);

/* Returns the allowed CPUs. They are determined at the first call. */
const struct vf_cpu_order *vf_cpus_in_node_order(void);

#endif /* VFRIENDLY_NUMA_PLACEMENT_PRELOAD_CPUS_H */
