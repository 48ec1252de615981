/*===- numa-placement/machine.h - NUMA nodes and OpenMP teams -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Finds data that one thread initializes and other threads use, and places
 * each page on the node that uses it.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_NUMA_PLACEMENT_MACHINE_H
#define VFRIENDLY_NUMA_PLACEMENT_MACHINE_H

#include "platform/linux/memory_policy.h"
#include <stdint.h>

/* Minimum size of an object to place: for less than 16 pages the system call
 * costs more than it gains. The compiler pass ignores objects whose size it
 * knows to be smaller. */
#define VF_NUMA_LEAST ((size_t)64 << 10)

/* Maximum number of threads in a team. Larger teams are treated as if their
 * threads were not bound to CPUs. */
#define VF_NUMA_MAX_THREADS 4096

struct vf_machine {
  struct vf_nodes allowed;
  unsigned nodes; /* number of nodes in allowed; 1 without NUMA */
  size_t page;
  /* Address at which the brk heap starts; 0 if unknown. */
  uintptr_t heap;
  int is_virtual;
  bool opaque;
};

/* Returns the description of the machine, which is read on the first call.
 * Nodes outside of the cpuset that the process had at that call are not used:
 * the kernel ignores policies for forbidden nodes. */
struct vf_machine vf_numa_machine_here(void);

/* Returns the number of nodes with memory that the process may use, and writes
 * them to *allowed. Makes one system call; vf_numa_machine_here makes many. */
unsigned vf_numa_nodes_here(struct vf_nodes *allowed);

/* Returns the node of a CPU, -1 if unknown. */
int vf_node_of_cpu(unsigned cpu);

/* Writes the node of each thread of the next OpenMP team to node[]; -1 if it is
 * unknown or not allowed. Returns the number of threads, or 0 if they are not
 * bound to CPUs or OpenMP is not in use. Starts no thread. */
unsigned vf_team_nodes(int16_t node[VF_NUMA_MAX_THREADS]);

/* Returns true if the environment (OMP_PROC_BIND) binds the threads of OpenMP
 * teams to CPUs. */
bool vf_team_is_bound(void);

/* Calls body(data, thread, threads) in each thread of a team. Returns false,
 * having done nothing, without OpenMP or inside of a parallel region. */
bool vf_team_run(void (*body)(void *data, unsigned thread, unsigned threads),
                 void *data);

/* The pages that lie completely inside an address range. */
struct vf_pages {
  char *begin;
  size_t size;
};
struct vf_pages vf_whole_pages(const struct vf_machine *machine, void *memory,
                               size_t size);

#endif /* VFRIENDLY_NUMA_PLACEMENT_MACHINE_H */
