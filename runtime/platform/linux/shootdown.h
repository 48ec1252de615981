/*===- platform/linux/shootdown.h - How this machine flushes TLBs ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_SHOOTDOWN_H
#define VFRIENDLY_PLATFORM_SHOOTDOWN_H

#include <stdbool.h>

struct vf_flushes {
  bool is_broadcast; /* by the CPUs themselves: no other CPU is interrupted */
  bool is_virtual;   /* each interrupt that is sent may exit to a hypervisor */
  unsigned nodes;    /* with memory that the process may use, at least 1 */
};

/* Returns what the beginning of /proc/cpuinfo says: AMD's INVLPGB and Intel's
 * remote action request are among the flags if the kernel uses them, and Linux
 * on Arm always broadcasts TLBI. nodes is 1. */
struct vf_flushes vf_flushes_of(const char *cpuinfo);

/* Returns what this machine and kernel do. Reads a file; preserves errno. */
struct vf_flushes vf_flushes(void);

#endif /* VFRIENDLY_PLATFORM_SHOOTDOWN_H */
