/*===- platform/linux/shortage.h - CPUs that the host takes away ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   static struct vf_shortage shortage;
 *   if (vf_shortage_stolen(&shortage, vf_now_ns())) ...   now and then
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_SHORTAGE_H
#define VFRIENDLY_PLATFORM_SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

struct vf_shortage {
  uint64_t read_at, stolen; /* of the last reading; stolen in ticks of 10 ms */
  bool is_stolen;
};

/* Returns true if the host took more than a tenth of a CPU from this machine
 * since the last reading (/proc/stat, at most each 200 ms, some 10 us). The
 * first call returns false. Preserves errno. */
bool vf_shortage_stolen(struct vf_shortage *shortage, uint64_t now);

#endif /* VFRIENDLY_PLATFORM_SHORTAGE_H */
