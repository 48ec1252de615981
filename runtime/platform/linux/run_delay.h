/*===- platform/linux/run_delay.h - Time that threads wait for CPUs -------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   static struct vf_run_delays delays;
 *   vf_run_delay_grown(&delays);        remembers the times of now
 *   ...
 *   ns = vf_run_delay_grown(&delays);   the most that a thread has waited since
 *
 * The kernel counts for each thread the time in which it could run and had no
 * CPU (/proc/TID/schedstat). That tells threads that share their CPUs from
 * those that are often interrupted for a short time, which counts of context
 * switches do not.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_RUN_DELAY_H
#define VFRIENDLY_PLATFORM_RUN_DELAY_H

#include <stdbool.h>
#include <stdint.h>

/* Maximum number of threads that are read, the oldest ones of the process. A
 * thread takes some 5 us. */
#define VF_RUN_DELAYS 64
#define VF_RUN_DELAY_UNKNOWN UINT64_MAX

struct vf_run_delays {
  unsigned n;
  struct {
    uint32_t thread;
    uint64_t ns;
  } of[VF_RUN_DELAYS];
};

/* Returns the maximum time in nanoseconds for which one of this process's
 * threads has waited for a CPU since the last call with *delays, and updates
 * it; VF_RUN_DELAY_UNKNOWN if the kernel does not tell. Threads that the last
 * call did not see do not count. Preserves errno. */
uint64_t vf_run_delay_grown(struct vf_run_delays *delays);

/* What the kernel counts for a thread. */
struct vf_run_statistics {
  uint64_t run_ns, delay_ns;
  uint64_t slices; /* times that it was given a CPU */
};

/* Reads the statistics of a thread of this process. Returns false if the kernel
 * does not tell. Preserves errno. */
bool vf_run_statistics_of(int thread, struct vf_run_statistics *statistics);

#endif /* VFRIENDLY_PLATFORM_RUN_DELAY_H */
