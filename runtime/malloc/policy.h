/*===- malloc/policy.h - Policy for returning free memory -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Global hysteresis (Schildermans, PhD thesis, chapter 7): one decision for the
 * whole process determines which memory is returned. Free memory is kept
 *
 * - up to a threshold, which is a share of the used memory (table 7.1 there),
 *   because the memory of an arena that shrinks while others are large is
 *   almost no gain;
 * - above that, until keeping it has cost as much as returning and faulting it
 *   in again will cost. As in the ski-rental problem, this never costs more
 *   than twice the optimum;
 * - for longer if the last returned memory was soon needed again, as with
 *   sawtooth patterns.
 *
 * The functions only compute and make no system calls, so they can be tested
 * without a process.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_POLICY_H
#define VFRIENDLY_MALLOC_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The cost of a shootdown in nanoseconds, after section 7.4 of the thesis, for
 * n CPUs in use of which n / nodes are the caller's neighbours:
 *
 *   (n / nodes - 1) local + (n - n / nodes) remote + (n - 1) exit
 */
struct vf_shootdown {
  uint64_t local_ns;  /* to interrupt a CPU of the same node */
  uint64_t remote_ns; /* of another node */
  uint64_t exit_ns;   /* of the hypervisor, for each interrupt; natively 0 */
  uint32_t nodes;     /* over which the CPUs in use are spread, at least 1 */
  bool is_broadcast;  /* by the CPUs themselves, for nothing: it costs 0 */
};

struct vf_policy {
  /* Scales the threshold. Any thread may set it; read atomically. */
  uint32_t tune_percent;
  uint32_t hold_price; /* CPU time that a page is worth, in ns per second */
  uint64_t fault_ns;   /* per page: to return it and touch it again */
  uint64_t call_ns;    /* per call that gives back a range */
  struct vf_shootdown shootdown; /* added to call_ns */
  uint32_t hold_log2;            /* holds are 2^hold_log2 as long */
};

/* Returns the cost of one shootdown if the process uses cpus CPUs, in
 * hundredths. */
double vf_policy_shootdown_ns(const struct vf_shootdown *shootdown,
                              uint32_t cpus);

/* Returns the amount of free memory up to which none is given back. cpus is the
 * number of CPUs that the process uses, in hundredths. */
size_t vf_policy_threshold(const struct vf_policy *policy, size_t used,
                           uint32_t cpus);

/* Returns the amount of free memory that is kept when the rest is given back.
 */
size_t vf_policy_padding(size_t threshold);

/* Returns the time for which `pages` in `calls` ranges must have been unused
 * before they are given back. */
uint64_t vf_policy_hold_ns(const struct vf_policy *policy, size_t pages,
                           size_t calls, uint32_t cpus);

/* The hold is the time for which free memory is kept before it is returned to
 * the kernel. Memory that is needed again within this many holds after its
 * return was returned too early. */
#define VF_REGRET_HOLDS 8
/* Adapts the hold after `given` bytes were returned, of which `taken` were
 * returned too early: doubles the hold if `taken` is more than half of `given`,
 * and halves it otherwise, within the limits of hold_log2. */
void vf_policy_learn(struct vf_policy *policy, size_t given, size_t taken);

#endif /* VFRIENDLY_MALLOC_POLICY_H */
