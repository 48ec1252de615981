/*===- numa-placement/claim.c - Moving a thread's slice to its node -------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Uses move_pages and not mbind with MPOL_MF_MOVE, because mbind would leave a
 * policy behind, which splits mappings.
 *===----------------------------------------------------------------------===*/

#include "numa-placement/machine.h"
#include "numa-placement/shared.h"
#include "vfriendly/numa.h"

/* Number of pages passed to one move_pages call: its arrays take 8 KiB of
 * stack. The kernel itself splits longer requests into chunks of this order. */
enum { BATCH = 512 };
/* Number of attempts to move a page. With the first page of a huge page the
 * kernel moves the whole huge page, and returns EBUSY for its other pages;
 * pages can also be busy for a moment. */
enum { ATTEMPTS = 3 };

struct batch {
  void *address[BATCH];
  int node[BATCH];
  size_t count;
};

/* Keeps in the batch only pages that exist and are on another node. */
static int keep_misplaced(struct batch *batch, unsigned node) {
  int error = vf_move_pages(batch->count, batch->address, NULL, batch->node);
  if (error)
    return error;
  size_t left = 0;
  for (size_t i = 0; i < batch->count; ++i)
    if (batch->node[i] >= 0 && (unsigned)batch->node[i] != node)
      batch->address[left++] = batch->address[i];
  batch->count = left;
  return 0;
}

static int move_batch(struct batch *batch, unsigned node) {
  int error = keep_misplaced(batch, node);
  size_t misplaced = batch->count;
  for (int i = 0; i < ATTEMPTS && error == 0 && batch->count > 0; ++i) {
    int to[BATCH];
    for (size_t page = 0; page < batch->count; ++page)
      to[page] = (int)node;
    error = vf_move_pages(batch->count, batch->address, to, batch->node);
    if (error == 0)
      error = keep_misplaced(batch, node);
  }
  if (error)
    return error;
  vf_numa_count(VF_NUMA_CLAIMED, misplaced - batch->count);
  return batch->count > 0 ? EIO : 0;
}

static int move_to(unsigned node, struct vf_pages pages, size_t page) {
  int result = 0;
  for (size_t at = 0; at < pages.size;) {
    struct batch batch = {.count = 0};
    for (; batch.count < BATCH && at < pages.size; at += page)
      batch.address[batch.count++] = pages.begin + at;
    int error = move_batch(&batch, node);
    if (error && error != EIO)
      return error;
    result = result ? result : error;
  }
  return result;
}

VF_API int vf_numa_claim(void *memory, size_t size, int how) {
  if (how != VF_NUMA_NEXT_TOUCH && how != VF_NUMA_NOW)
    return EINVAL;
  struct vf_machine machine = vf_numa_machine_here();
  struct vf_pages pages = vf_whole_pages(&machine, memory, size);
  unsigned node = vf_current_node();
  if (pages.size == 0)
    return 0;
  if (machine.nodes == 1) {
    vf_numa_count(VF_NUMA_ONE_NODE, 1);
    return 0;
  }
  /* A thread may run on a node where its cpuset allows no memory. */
  bool allowed = vf_has_node(&machine.allowed, node);
  int error = EPERM;
  if (allowed && how == VF_NUMA_NOW) {
    error = move_to(node, pages, machine.page);
  } else if (allowed) {
    struct vf_nodes only = vf_only_node(node);
    error = vf_mbind(pages.begin, pages.size, MPOL_PREFERRED, &only);
  }
  if (error != EPERM && error != ENOSYS && error != EACCES)
    return error;
  vf_numa_count(VF_NUMA_REFUSED, 1);
  return 0;
}
