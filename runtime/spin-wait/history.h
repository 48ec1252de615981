/*===- spin-wait/history.h - Spins that do not end their waits ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Where the last VF_VAIN_MAX waits for a notify have all slept, the next ones
 * spin only for VF_SHORT_SPIN_NS, except for one in VF_TRIALS, which spins for
 * the whole budget: if it ends by that, all do so again. Where such waits take
 * a millisecond or more, they sleep after the opening phase, except for one in
 * VF_LONG_TRIALS.
 *
 * A wait that ends does not call the runtime. So the spin of a wait that has
 * not called vf_history_slept before the next one calls vf_history_began counts
 * as successful. Several waiters of a bucket thus mostly spin as long as
 * without a history.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_HISTORY_H
#define VFRIENDLY_SPIN_WAIT_HISTORY_H

#include "spin-wait/shared.h"
#include <stdbool.h>

/* With fewer, waits of which half are short would spin too little: eight of
 * them in a row sleep once in 256 waits. */
#define VF_VAIN_MAX 8u
/* The trials add a sixteenth of the budget, some 2 us, to each wait. */
#define VF_TRIALS 16u
/* The same where waits take long: half a microsecond. */
#define VF_LONG_TRIALS 64u
/* A sixth of the CPU time of a sleep and a wake-up. */
#define VF_SHORT_SPIN_NS 2000u

/* A bit of vf_spin_bucket.in_vain: the last wait spins, or its spin has ended
 * it. Set only by waits that spin for the whole budget. */
#define VF_VAIN_OPEN (1u << 31)

/* Returns true if waits that slept took a millisecond or more. */
static inline bool vf_history_is_long(const struct vf_spin_bucket *bucket) {
  return vf_get(&bucket->usual) != 0;
}

/* Returns true if the wait that began at this time spins shortly. A budget that
 * the user has set stays. */
static inline bool vf_history_is_bad(const struct vf_spin_bucket *bucket,
                                     uint64_t began) {
  return (vf_get(&bucket->in_vain) & ~VF_VAIN_OPEN) >= VF_VAIN_MAX &&
         (began * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
                 (vf_history_is_long(bucket) ? VF_LONG_TRIALS : VF_TRIALS) !=
             0 &&
         vf_get(&vf_spin_shared_1.budget_ns_plus_1) == 0;
}

/* Called when a wait for a notify begins to spin. */
static inline void vf_history_began(struct vf_spin_bucket *bucket,
                                    uint64_t began) {
  if (vf_history_is_bad(bucket, began))
    return;
  uint32_t in_vain = vf_get(&bucket->in_vain),
           now = in_vain & VF_VAIN_OPEN ? VF_VAIN_OPEN : in_vain | VF_VAIN_OPEN;
  if (now != in_vain) /* Others may read the cache line. */
    vf_set(&bucket->in_vain, now);
}

/* Called when it ends its spin. */
static inline void vf_history_slept(struct vf_spin_bucket *bucket) {
  uint32_t in_vain = vf_get(&bucket->in_vain) & ~VF_VAIN_OPEN;
  vf_set(&bucket->in_vain, in_vain < VF_VAIN_MAX ? in_vain + 1 : VF_VAIN_MAX);
}

#endif /* VFRIENDLY_SPIN_WAIT_HISTORY_H */
