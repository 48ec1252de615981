/*===- vfriendly/numa.h - Placement of memory on NUMA nodes ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   double *a = malloc(n * sizeof *a);
 *   vf_numa_place(a, n * sizeof *a, VF_NUMA_BLOCKS); // before the first write
 *   for (i = 0; i < n; ++i)
 *     a[i] = 0;                                      // by one thread
 *   #pragma omp parallel for schedule(static)        // each on its own node
 *
 * By default a page is placed on the node of the thread that touches it first.
 * These functions change that for one address range, never for the whole
 * process. Only pages that lie completely inside the range are affected, and
 * their contents do not change. All functions may be called before main and in
 * any thread, and preserve errno.
 *
 * All functions do nothing and return 0 if placement is impossible or useless:
 * on a machine with one node, with a kernel without NUMA, in a sandbox that
 * forbids the system calls, or in a cpuset of one node. VF_STATS=1 counts these
 * cases.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_NUMA_H
#define VFRIENDLY_NUMA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum vf_numa_policy {
  /* Places each page on the node of the thread that touches it first, also
   * where the process has another policy. Where it has none, automatic NUMA
   * balancing may move pages later; it leaves those of other policies alone. */
  VF_NUMA_FT = 0,
  /* Interleaves pages over all nodes with memory that the process may use. */
  VF_NUMA_R4K = 1,
  /* Divides the range into blocks of equal size, one for each thread of an
   * OpenMP team, and places each block on the node of its thread. A loop with
   * schedule(static) then uses each block in that thread. The threads must be
   * bound to CPUs (OMP_PLACES, OMP_PROC_BIND); otherwise this policy acts as
   * VF_NUMA_R4K. In a virtual machine that sees one node but may have several
   * (vf_numa_info: opaque), vf_numa_place lets the bound threads touch the
   * pages of their blocks at once; VF_NUMA_OPAQUE=off prevents that. */
  VF_NUMA_BLOCKS = 2,
  /* Interleaves pages over the nodes in proportion to the weights that the
   * kernel has for their bandwidth
   * (/sys/kernel/mm/mempolicy/weighted_interleave). Before Linux 6.9 this
   * policy acts as VF_NUMA_R4K. */
  VF_NUMA_WEIGHTED = 3,
  /* Flag for calls in constructors, to be or-ed to a policy: vf_numa_place then
   * starts no threads. A program that forks may not expect that other threads
   * exist before main. */
  VF_NUMA_EARLY = 16
};

/* Sets where the pages of size bytes at memory are placed at their first touch;
 * pages touched before stay where they are. Does nothing for less than 64 KiB
 * of whole pages, nor in the heap that grows by brk, where a policy would
 * outlive free. post: returns 0; EINVAL for an unknown policy; EFAULT if part
 * of the range is not mapped. */
int vf_numa_place(void *memory, size_t size, int policy);

enum vf_numa_claim {
  /* Lets the kernel place pages that no thread has touched yet on the calling
   * thread's node, at their first touch. Other pages stay where they are. */
  VF_NUMA_NEXT_TOUCH = 0,
  /* Moves pages that exist: the kernel copies them to the calling thread's node
   * now. */
  VF_NUMA_NOW = 1
};

/* Places the range on the calling thread's node. To be called by each thread of
 * a team for its own slice. post: returns 0; EINVAL for an unknown `how`;
 * EFAULT if part of the range is not mapped (NEXT_TOUCH); EIO if some pages
 * could not be moved (NOW), such as pages that are shared with other processes.
 */
int vf_numa_claim(void *memory, size_t size, int how);

/* Read-only copies of a range, one on each node. */
typedef struct vf_numa_copies vf_numa_copies;

/* Copies size bytes at memory to each node. With a single node, or if the
 * kernel does not let the process choose nodes, makes no copies, and
 * vf_numa_nearest returns memory. pre: no thread writes the range until
 * vf_numa_release. post: returns 0 and sets *copies; ENOMEM, with *copies NULL.
 */
int vf_numa_replicate(const void *memory, size_t size, vf_numa_copies **copies);

/* Returns the copy on the node on which the calling thread runs now. */
const void *vf_numa_nearest(const vf_numa_copies *copies);

/* Frees the copies. pre: they are not in use; copies may be NULL. */
void vf_numa_release(vf_numa_copies *copies);

struct vf_numa_machine {
  unsigned nodes; /* nodes with memory for this process; 1 without NUMA */
  unsigned node;  /* the node on which the calling thread runs now */
  int is_virtual; /* 1: a hypervisor says so; 0: none does; -1: unknown */
  int opaque;     /* 1: a virtual machine whose firmware describes no nodes:
                     the host may have several */
};

/* Describes the machine: its nodes, and whether they are visible. post: returns
 * 0 and fills *machine; EINVAL for NULL. */
int vf_numa_info(struct vf_numa_machine *machine);

#ifdef __cplusplus
}
#endif

#endif /* VFRIENDLY_NUMA_H */
