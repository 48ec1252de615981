/*===- numa-placement/replicate.c - Read-only copies on each node ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "numa-placement/machine.h"
#include "numa-placement/shared.h"
#include "vfriendly/numa.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct vf_numa_copies {
  const void *original;
  size_t size;
  unsigned highest;      /* node of the last element of `copies` */
  const void *of_node[]; /* one pointer per node: its copy, or the original */
};

static unsigned highest_node(const struct vf_nodes *nodes) {
  unsigned node = VF_MAX_NODES - 1;
  while (node > 0 && !vf_has_node(nodes, node))
    --node;
  return node;
}

/* Returns a copy of `original` on the node; NULL if there is no memory, and
 * `original` itself if the kernel does not let us choose nodes. */
static const void *copy_on(unsigned node, const void *original, size_t size) {
  void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED)
    return NULL;
  struct vf_nodes only = vf_only_node(node);
  if (vf_mbind(copy, size, MPOL_PREFERRED, &only) != 0) {
    munmap(copy, size);
    vf_numa_count(VF_NUMA_REFUSED, 1);
    return original;
  }
  memcpy(copy, original, size);
  mprotect(copy, size, PROT_READ); /* The copies are read-only: a write to one
                                      copy would not reach the others. */
  vf_numa_count(VF_NUMA_COPIED, 1);
  return copy;
}

static int make_copies(const void *original, size_t size,
                       vf_numa_copies **copies) {
  struct vf_machine machine = vf_numa_machine_here();
  bool useful = machine.nodes > 1 && size > 0;
  unsigned highest = useful ? highest_node(&machine.allowed) : 0;
  size_t nodes = (size_t)highest + 1;
  vf_numa_copies *made = malloc(sizeof *made + nodes * sizeof *made->of_node);
  *copies = NULL;
  if (!made)
    return ENOMEM;
  made->original = original;
  made->size = size;
  made->highest = highest;
  for (unsigned node = 0; node < nodes; ++node)
    made->of_node[node] = original;
  if (!useful)
    vf_numa_count(VF_NUMA_ONE_NODE, 1);
  for (unsigned node = 0; useful && node < nodes; ++node) {
    if (!vf_has_node(&machine.allowed, node))
      continue;
    const void *copy = copy_on(node, original, size);
    if (!copy) {
      vf_numa_release(made);
      return ENOMEM;
    }
    made->of_node[node] = copy;
  }
  *copies = made;
  return 0;
}

VF_API int vf_numa_replicate(const void *memory, size_t size,
                             vf_numa_copies **copies) {
  int saved = errno;
  int result = make_copies(memory, size, copies);
  errno = saved;
  return result;
}

VF_API const void *vf_numa_nearest(const vf_numa_copies *copies) {
  unsigned node = copies->highest > 0 ? vf_current_node() : 0;
  return node <= copies->highest ? copies->of_node[node] : copies->original;
}

VF_API void vf_numa_release(vf_numa_copies *copies) {
  int saved = errno;
  for (unsigned node = 0; copies && node <= copies->highest; ++node)
    if (copies->of_node[node] != copies->original)
      munmap((void *)copies->of_node[node], copies->size);
  free(copies);
  errno = saved;
}
