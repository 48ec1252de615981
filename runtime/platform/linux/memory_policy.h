/*===- platform/linux/memory_policy.h - Linux's NUMA system calls ---------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   struct vf_nodes nodes;
 *   if (vf_allowed_nodes(&nodes) == 0)
 *     vf_mbind(memory, size, MPOL_INTERLEAVE, &nodes);
 *
 * Raw system calls: loading libnuma takes 0.6 ms, more than all of libvfrt. All
 * return 0 or an errno value and leave errno as it was.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_MEMORY_POLICY_H
#define VFRIENDLY_PLATFORM_MEMORY_POLICY_H

#include <errno.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux's maximum number of NUMA nodes (CONFIG_NODES_SHIFT is at most 10). */
#define VF_MAX_NODES 1024
#define VF_NODE_WORD (sizeof(unsigned long) * CHAR_BIT)
/* Available since Linux 6.9; older kernels return EINVAL. */
#define VF_MPOL_WEIGHTED_INTERLEAVE 6

struct vf_nodes {
  unsigned long words[VF_MAX_NODES / VF_NODE_WORD];
};

static inline bool vf_has_node(const struct vf_nodes *nodes, unsigned node) {
  return node < VF_MAX_NODES &&
         (nodes->words[node / VF_NODE_WORD] >> node % VF_NODE_WORD & 1);
}

static inline struct vf_nodes vf_only_node(unsigned node) {
  struct vf_nodes nodes = {{0}};
  nodes.words[node / VF_NODE_WORD] = 1ul << node % VF_NODE_WORD;
  return nodes;
}

static inline int vf_result_of(long result, int saved) {
  int error = result < 0 ? errno : 0; /* move_pages may return > 0 */
  errno = saved;
  return error;
}

/* Nodes with memory that the process may use: those of its cpuset. */
static inline int vf_allowed_nodes(struct vf_nodes *nodes) {
  int saved = errno;
  return vf_result_of(syscall(SYS_get_mempolicy, NULL, nodes->words,
                              (unsigned long)VF_MAX_NODES, NULL,
                              (unsigned long)MPOL_F_MEMS_ALLOWED),
                      saved);
}

/* Returns true if the calling thread has no policy of its own, as by numactl.
 */
static inline bool vf_has_default_policy(void) {
  int saved = errno, mode = MPOL_DEFAULT;
  return vf_result_of(syscall(SYS_get_mempolicy, &mode, NULL, 0ul, NULL, 0ul),
                      saved) == 0 &&
         mode == MPOL_DEFAULT;
}

/* Sets the policy of a range of whole pages. nodes may be NULL for MPOL_LOCAL
 * and MPOL_DEFAULT. */
static inline int vf_mbind(void *memory, size_t size, int mode,
                           const struct vf_nodes *nodes) {
  int saved = errno;
  /* Passes one bit more than the mask has, because the kernel uses one bit less
   * than it is told. */
  return vf_result_of(
      syscall(SYS_mbind, memory, size, mode, nodes ? nodes->words : NULL,
              nodes ? (unsigned long)VF_MAX_NODES + 1 : 0ul, 0u),
      saved);
}

/* Moves page i to node to[i] where possible. If to is NULL, moves nothing and
 * sets status[i] to the node of page i, or to a negative number if the page has
 * no memory. */
static inline int vf_move_pages(size_t count, void **pages, const int *to,
                                int *status) {
  int saved = errno;
  return vf_result_of(syscall(SYS_move_pages, 0, (unsigned long)count, pages,
                              to, status, to ? MPOL_MF_MOVE : 0),
                      saved);
}

/* Returns the node on which the calling thread runs now; 0 if the kernel does
 * not say. */
static inline unsigned vf_current_node(void) {
  int saved = errno;
  unsigned cpu, node = 0;
  if (syscall(SYS_getcpu, &cpu, &node, NULL) != 0)
    node = 0;
  errno = saved;
  return node;
}

#endif /* VFRIENDLY_PLATFORM_MEMORY_POLICY_H */
