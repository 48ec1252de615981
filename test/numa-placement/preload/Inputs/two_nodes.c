/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * numa-placement/machine.c for a machine that has one node and says two: the
 * kernel takes policies for both, as the second is not allowed, and reports
 * them. CPUs with even numbers are on node 1. */

#include "numa-placement/machine.h"

unsigned vf_numa_nodes_here(struct vf_nodes *allowed) {
  *allowed = (struct vf_nodes){{3}};
  return 2;
}

struct vf_machine vf_numa_machine_here(void) {
  return (struct vf_machine){.allowed = {{3}}, .nodes = 2, .page = 4096};
}

int vf_node_of_cpu(unsigned cpu) { return cpu % 2 == 0; }

struct vf_pages vf_whole_pages(const struct vf_machine *machine, void *memory,
                               size_t size) {
  uintptr_t begin = ((uintptr_t)memory + machine->page - 1) & -machine->page;
  uintptr_t end = ((uintptr_t)memory + size) & -machine->page;
  return (struct vf_pages){(char *)begin, end > begin ? end - begin : 0};
}
