/*===- malloc/hysteresis.h - When free memory is returned -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Applies the policy (policy.h) to the free pages of the process (pages.h). The
 * thread that watches the free memory looks at it repeatedly:
 *
 *   struct vf_watch watch;
 *   vf_watch_begin(&watch);
 *   for (uint64_t pause; (pause = vf_look(&watch)) != 0;)
 *     vf_sleep_ns(pause);
 *
 * Each look takes from the arenas the memory that they have not used since the
 * previous look, and reads the minimum amount of free memory since then. Memory
 * that was free in all looks of a hold, a period of time that policy.h
 * determines, was not needed for that long. It is returned, except for some
 * padding.
 *
 * No function may be called from inside the allocator. All functions may change
 * errno; none is a cancellation point.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_HYSTERESIS_H
#define VFRIENDLY_MALLOC_HYSTERESIS_H

#include "common/process_wide.h"
#include "malloc/pages.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of times that free memory is examined during a hold. The hold is the
 * time for which memory must have been free before it is returned (policy.h).
 * Memory that becomes free between two examinations is kept at most a quarter
 * of a hold longer. */
#define VF_LOOKS 4
/* Minimum interval, in nanoseconds, between measurements of the CPUs in use and
 * of memory pressure. The prototype in Schildermans' thesis also measures the
 * CPUs in use each second; memory pressure must be answered within two seconds.
 */
#define VF_SLOW_NS UINT64_C(1000000000)
/* Default of vf_worth. The lower thresholds of table 7.1 in Schildermans'
 * thesis save next to nothing: rows `small` of `./dev bench heap-churn`. */
#define VF_WORTH ((size_t)1 << 20)
/* Minimum threshold in bytes: for less free memory neither a helper thread nor
 * a return is worthwhile. Only vf_hysteresis_configure sets it. */
extern VF_HIDDEN size_t vf_worth;

struct vf_watch {
  size_t low[VF_LOOKS];
  unsigned looks;
  uint64_t slow_at, cpu_then;
  uint32_t cpus;                     /* in hundredths */
  uint64_t taken_then, regret_until; /* set by the last return */
  size_t given;
};

struct vf_return_counts {
  uint64_t returns, ranges, calls, bytes, regrets;
};

/* Reads the VF_MALLOC_* variables. Must be called once, before the functions
 * below. */
void vf_hysteresis_configure(void);

void vf_watch_begin(struct vf_watch *watch);

/* Examines free memory once, and may give some of it back. Returns the time in
 * nanoseconds after which the caller must call vf_look again, or 0 if it need
 * not do so before more memory is freed.
 *
 * pre: for each watch, one thread at a time calls this function. */
uint64_t vf_look(struct vf_watch *watch);

/* Decides now whether this watch's last return of memory was too early
 * (VF_REGRET_HOLDS). To be called before the watch may end: only a later call
 * of vf_look would decide this otherwise. */
void vf_watch_end(struct vf_watch *watch);

/* Returns the time until the first call of vf_look: the hold for VF_WORTH bytes
 * of free memory, divided by VF_LOOKS. */
uint64_t vf_first_pause_ns(const struct vf_watch *watch);

/* Returns the threshold: vf_look returns no free memory as long as there is no
 * more than this. */
size_t vf_threshold(const struct vf_watch *watch,
                    const struct vf_pages_totals *totals);

/* Returns the bytes in use without jemalloc's memory for itself, of which
 * jemalloc touches only the part that it needs. */
size_t vf_used_for_blocks(const struct vf_pages_totals *totals);

/* Returns the CPU time for touching this many bytes again, in nanoseconds. */
uint64_t vf_fault_costs_ns(size_t bytes);

/* Return free memory to the kernel immediately: vf_give_all returns all of it,
 * vf_give_excess all but the padding (vf_policy_padding), which is kept for the
 * next allocations. Both return the number of bytes. */
size_t vf_give_all(void);
size_t vf_give_excess(const struct vf_watch *watch);

/* Between vf_giving_stop and vf_giving_resume, other threads give no memory
 * back. Memory that is being given back is unavailable to all threads. */
void vf_giving_stop(void);
void vf_giving_resume(void);

struct vf_return_counts vf_return_counts(void);

/* Ends vf_giving_stop in the child process after a fork. Without it, memory
 * that was being given back at the fork would be lost to the child. */
void vf_hysteresis_after_fork(void);

#endif /* VFRIENDLY_MALLOC_HYSTERESIS_H */
