/*===- malloc/policy.c - Policy for returning free memory -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "malloc/policy.h"

/* log2 of the maximum factor by which a hold grows, from 50 ms to 3.2 s.
 * Returning a page costs as much as keeping it for 50 ms: less than 2 % of what
 * it would cost to keep a page that is needed again after more than 3.2 s. */
#define MAX_HOLD_LOG2 6
/* Limits of a hold, before the factor 2^hold_log2 is applied, in case a
 * measured cost is wrong. The lower limit is a few time slices; the upper limit
 * is a second, as in the prototype of Schildermans' thesis. */
#define HOLD_MIN_NS 10000000u
#define HOLD_MAX_NS 1000000000u

/* The sizes and shares are those of table 7.1 in Schildermans' thesis. */
size_t vf_policy_threshold(const struct vf_policy *policy, size_t used,
                           uint32_t cpus) {
  size_t base;
  if (used < 500000)
    base = 100000;
  else if (used < 1000000)
    base = used / 2;
  else if (used < 1000000000)
    base = used / 10 + 400000;
  else
    base = 100000000;
  /* The factor 1 + CPUs / 100 of section 7.5 of the thesis raises the threshold
   * for processes that use many CPUs: each return of memory interrupts these
   * CPUs to flush their TLBs, unless the hardware flushes them. */
  if (policy->shootdown.is_broadcast)
    cpus = 0;
  uint64_t factor =
      (10000u + cpus) *
      (uint64_t)__atomic_load_n(&policy->tune_percent, __ATOMIC_RELAXED);
  return (size_t)((double)base * (double)factor / 1e6);
}

double vf_policy_shootdown_ns(const struct vf_shootdown *shootdown,
                              uint32_t cpus) {
  if (cpus <= 100 || shootdown->is_broadcast)
    return 0;
  double all = (double)cpus / 100;
  double here = all / (shootdown->nodes > 1 ? shootdown->nodes : 1);
  if (here < 1) /* The caller's own CPU is on its node. */
    here = 1;
  return (here - 1) * (double)shootdown->local_ns +
         (all - here) * (double)shootdown->remote_ns +
         (all - 1) * (double)shootdown->exit_ns;
}

size_t vf_policy_padding(size_t threshold) { return threshold / 4; }

uint64_t vf_policy_hold_ns(const struct vf_policy *policy, size_t pages,
                           size_t calls, uint32_t cpus) {
  double cost =
      (double)pages * (double)policy->fault_ns +
      (double)calls * ((double)policy->call_ns +
                       vf_policy_shootdown_ns(&policy->shootdown, cpus));
  double hold = cost / ((double)pages * policy->hold_price) * 1e9;
  hold = hold < HOLD_MIN_NS   ? HOLD_MIN_NS
         : hold > HOLD_MAX_NS ? HOLD_MAX_NS
                              : hold;
  return (uint64_t)hold << policy->hold_log2;
}

void vf_policy_learn(struct vf_policy *policy, size_t given, size_t taken) {
  if (taken > given / 2) {
    if (policy->hold_log2 != MAX_HOLD_LOG2)
      ++policy->hold_log2;
  } else if (policy->hold_log2 != 0) {
    --policy->hold_log2;
  }
}
