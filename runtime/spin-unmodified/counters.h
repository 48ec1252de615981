/*===- spin-unmodified/counters.h - What VF_STATS=1 prints ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_COUNTERS_H
#define VFRIENDLY_SPIN_UNMODIFIED_COUNTERS_H

#include <stdint.h>

/* In the order they are printed. The first five are verdicts (prove.h). */
enum vf_spin_unmodified_counter {
  VF_SPIN_COMPUTES,
  VF_SPIN_POLLS,
  VF_SPIN_COUNTS,
  VF_SPIN_TIMES,
  VF_SPIN_DELAYS,
  VF_SPIN_ARMED,   /* threads that were watched closely */
  VF_SPIN_GIVEN,   /* yields */
  VF_SPIN_NAPS,    /* sleeps */
  VF_SPIN_CHANGED, /* waits that had ended when the thread ran again */
  VF_SPIN_GAVE_US, /* time in which threads gave way */
  VF_SPIN_UNMODIFIED_COUNTERS
};

extern uint64_t vf_spin_unmodified_counters[VF_SPIN_UNMODIFIED_COUNTERS];

static inline void vf_spin_count(enum vf_spin_unmodified_counter counter,
                                 uint32_t n) {
  __atomic_fetch_add(&vf_spin_unmodified_counters[counter], n,
                     __ATOMIC_RELAXED);
}

#endif /* VFRIENDLY_SPIN_UNMODIFIED_COUNTERS_H */
