/*===- numa-placement/place.c - Placement at the first touch --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Calls mbind before the first touch. After it, mbind with MPOL_MF_MOVE moves
 * only pages on nodes that the new policy forbids, and interleaving forbids no
 * node.
 *===----------------------------------------------------------------------===*/

#include "numa-placement/machine.h"
#include "numa-placement/shared.h"
#include "vfriendly/numa.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#define HUGE_PAGE ((size_t)2 << 20)
/* Minimum number of huge pages per node for interleaving. With few, one huge
 * page more or less is a large part of a node's share: 8 MB on four nodes were
 * distributed as 128, 640, 640 and 640 small pages. With 50 per node the
 * deviation is 2 %. */
#define LEAST_HUGE_PER_NODE 50
/* Minimum size in bytes of each thread's block for which huge pages are used.
 * Neighbouring blocks share a huge page: rounding moves the border between them
 * by at most 1 MiB, 5 % of this size. */
#define LEAST_ROUNDED_BLOCK ((size_t)20 << 20)

/* Available since Linux 5.14; headers of older C libraries do not define it. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int counted(int error) {
  if (error == EPERM || error == ENOSYS || error == EACCES || error == ENOMEM) {
    /* mbind fails in a sandbox, in a kernel without NUMA, or if the process has
     * too many mappings. */
    vf_numa_count(VF_NUMA_REFUSED, 1);
    return 0;
  }
  if (error == 0)
    vf_numa_count(VF_NUMA_PLACED, 1);
  return error;
}

static int interleave(const struct vf_machine *machine, struct vf_pages pages,
                      bool weighted) {
  int error = EINVAL;
  if (weighted)
    error = vf_mbind(pages.begin, pages.size, VF_MPOL_WEIGHTED_INTERLEAVE,
                     &machine->allowed);
  if (error == EINVAL)
    error =
        vf_mbind(pages.begin, pages.size, MPOL_INTERLEAVE, &machine->allowed);
  int saved = errno;
  if (error == 0 &&
      pages.size / HUGE_PAGE < (size_t)machine->nodes * LEAST_HUGE_PER_NODE)
    madvise(pages.begin, pages.size, MADV_NOHUGEPAGE);
  errno = saved;
  return error;
}

/* Returns where a thread's block begins, rounded to a multiple of grain. */
static char *block_begin(struct vf_pages pages, unsigned thread,
                         unsigned threads, size_t grain) {
  size_t share = (size_t)((unsigned __int128)pages.size * thread / threads);
  uintptr_t exact = (uintptr_t)pages.begin + share;
  char *rounded = (char *)((exact + grain / 2) / grain * grain);
  if (thread == 0 || rounded < pages.begin)
    return pages.begin;
  char *end = pages.begin + pages.size;
  return thread == threads || rounded > end ? end : rounded;
}

/* Places each thread's block on its node. The number of pages on each node is
 * exact, because no huge page lies across a border between two policies. */
static int place_blocks(size_t page, struct vf_pages pages, const int16_t *node,
                        unsigned threads) {
  int result = 0;
  for (unsigned first = 0, last; first < threads; first = last) {
    for (last = first + 1; last < threads && node[last] == node[first];)
      ++last;
    char *begin = block_begin(pages, first, threads, page);
    char *end = block_begin(pages, last, threads, page);
    if (node[first] < 0 || begin == end)
      continue;
    struct vf_nodes only = vf_only_node((unsigned)node[first]);
    int error = vf_mbind(begin, (size_t)(end - begin), MPOL_PREFERRED, &only);
    result = result ? result : error;
  }
  return result;
}

struct touching {
  struct vf_pages pages;
  size_t page;
};

static void touch_block(void *data, unsigned thread, unsigned threads) {
  struct touching *job = data;
  size_t grain =
      job->pages.size / threads < LEAST_ROUNDED_BLOCK ? job->page : HUGE_PAGE;
  char *at = block_begin(job->pages, thread, threads, grain);
  char *end = block_begin(job->pages, thread + 1, threads, grain);
  if (at == end)
    return;
  int saved = errno;
  bool done = madvise(at, (size_t)(end - at), MADV_POPULATE_WRITE) == 0;
  errno = saved;
  for (; !done && at < end; at += job->page)
    __atomic_fetch_or(at, 0, __ATOMIC_RELAXED);
}

/* An object is touched only if it takes at most half of the free memory:
 * touching also allocates pages that the program would never write. */
static bool fits(size_t size) {
  struct sysinfo info;
  int saved = errno;
  bool known = sysinfo(&info) == 0;
  errno = saved;
  return known && size <= (uint64_t)info.freeram * info.mem_unit / 2;
}

static bool touch_blocks(size_t page, struct vf_pages pages) {
  if (vf_get(&vf_numa_shared_1.touch_off) || !vf_team_is_bound() ||
      !fits(pages.size))
    return false;
  struct touching job = {pages, page};
  if (!vf_team_run(touch_block, &job))
    return false;
  vf_numa_count(VF_NUMA_TOUCHED, 1);
  return true;
}

static bool is_in_heap(const struct vf_machine *machine, const char *memory) {
  return machine->heap != 0 && (uintptr_t)memory >= machine->heap &&
         (uintptr_t)memory < (uintptr_t)sbrk(0);
}

VF_API int vf_numa_place(void *memory, size_t size, int policy) {
  bool early = policy & VF_NUMA_EARLY;
  policy &= ~VF_NUMA_EARLY;
  if (policy < VF_NUMA_FT || policy > VF_NUMA_WEIGHTED)
    return EINVAL;
  struct vf_machine here = vf_numa_machine_here(), *machine = &here;
  struct vf_pages pages = vf_whole_pages(machine, memory, size);
  if (pages.size < VF_NUMA_LEAST) {
    vf_numa_count(VF_NUMA_SMALL, 1);
    return 0;
  }
  if (machine->nodes == 1) {
    bool touched = machine->opaque && policy == VF_NUMA_BLOCKS && !early &&
                   touch_blocks(machine->page, pages);
    if (!touched)
      vf_numa_count(VF_NUMA_ONE_NODE, 1);
    return 0;
  }
  if (is_in_heap(machine, pages.begin)) {
    vf_numa_count(VF_NUMA_HEAP, 1);
    return 0;
  }
  if (policy == VF_NUMA_FT) {
    /* Automatic NUMA balancing neither samples nor moves memory that has a
     * policy of its own, even this one, so only where another would hold. */
    int mode = vf_has_default_policy() ? MPOL_DEFAULT : MPOL_LOCAL;
    return counted(vf_mbind(pages.begin, pages.size, mode, NULL));
  }
  if (policy == VF_NUMA_BLOCKS) {
    int16_t node[VF_NUMA_MAX_THREADS];
    unsigned threads = vf_team_nodes(node);
    if (threads != 0)
      return counted(place_blocks(machine->page, pages, node, threads));
    vf_numa_count(VF_NUMA_UNBOUND, 1);
  }
  return counted(interleave(machine, pages, policy == VF_NUMA_WEIGHTED));
}

VF_API int vf_numa_info(struct vf_numa_machine *result) {
  if (!result)
    return EINVAL;
  struct vf_machine here = vf_numa_machine_here(), *machine = &here;
  *result = (struct vf_numa_machine){.nodes = machine->nodes,
                                     .node = vf_current_node(),
                                     .is_virtual = machine->is_virtual,
                                     .opaque = machine->opaque};
  return 0;
}
