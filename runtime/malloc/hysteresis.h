/*===- malloc/hysteresis.h - When free memory goes back -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The policy (policy.h) applied to the process's free pages (pages.h). Whoever
 * watches looks again and again:
 *
 *   struct vf_watch watch;
 *   vf_watch_begin(&watch);
 *   for (uint64_t pause; (pause = vf_look(&watch)) != 0;)
 *     vf_sleep_ns(pause);
 *
 * Each look takes from the arenas what they did not use again since the look
 * before, and sees the least that was free for all meanwhile. What was free
 * through all looks of a hold was needed by nobody for that long, and it is
 * returned, except for some padding.
 *
 * None of these may be called from inside the allocator. All leave errno
 * undefined; none is a cancellation point.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_HYSTERESIS_H
#define VFRIENDLY_MALLOC_HYSTERESIS_H

#include "malloc/pages.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hold is that many looks: the hold of what becomes free between two of them
 * is a quarter longer at most. */
#define VF_LOOKS 4
/* CPUs in use and pressure are looked at no more often: the thesis' prototype
 * takes the former each second, and pressure has to be met within two. */
#define VF_SLOW_NS UINT64_C(1000000000)
/* Less than that is worth neither a thread nor a return; the least threshold is
 * 100 kB. */
#define VF_WORTH ((size_t)1 << 20)

struct vf_watch {
  size_t low[VF_LOOKS];
  unsigned looks;
  uint64_t slow_at, cpu_then;
  uint32_t cpus;                     /* in hundredths */
  uint64_t taken_then, regret_until; /* of the last return */
  size_t given;
};

struct vf_return_counts {
  uint64_t returns, ranges, calls, bytes, regrets;
};

/* Reads the VF_MALLOC_* variables. Once, before any other of these. */
void vf_hysteresis_configure(void);

void vf_watch_begin(struct vf_watch *watch);

/* One look, after which memory may have gone back. Returns the time until the
 * next in nanoseconds, or 0 if nothing is to be seen until more is freed.
 *
 * pre: one thread at a time for each watch. */
uint64_t vf_look(struct vf_watch *watch);

/* Judges the last return of the watch now: it may not look again. */
void vf_watch_end(struct vf_watch *watch);

/* Until what is free may have to go, from a moment at which little is free. */
uint64_t vf_first_pause_ns(const struct vf_watch *watch);

/* Free memory up to this stays. */
size_t vf_threshold(const struct vf_watch *watch,
                    const struct vf_pages_totals *totals);

/* Bytes of pages with blocks in them. */
size_t vf_used_for_blocks(const struct vf_pages_totals *totals);

/* CPU time that it takes to touch so many bytes again, nanoseconds. */
uint64_t vf_fault_costs_ns(size_t bytes);

/* Gives all that is free back now, or all that is above the padding of the
 * threshold. Returns the bytes. */
size_t vf_give_all(void);
size_t vf_give_excess(const struct vf_watch *watch);

/* Between these two nothing is on its way back, where no other thread could
 * get it. */
void vf_giving_stop(void);
void vf_giving_resume(void);

struct vf_return_counts vf_return_counts(void);

/* After a fork, in the child, where vf_giving_stop was called before: what is
 * on its way back would be lost to the child. */
void vf_hysteresis_after_fork(void);

#endif /* VFRIENDLY_MALLOC_HYSTERESIS_H */
