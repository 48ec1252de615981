/*===- preload/statistics.c - Counters that VF_STATS=1 prints -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "preload/statistics.h"
#include "common/report.h"
#include <inttypes.h>

VF_PROCESS_WIDE(vf_preload_counters_1, VF_PRELOAD_COUNTERS_SIZE);
_Static_assert(sizeof vf_preload_counters_1 == VF_PRELOAD_COUNTERS_SIZE,
               "VF_PRELOAD_COUNTERS_SIZE is what the assembler reserves");

static void print(void) {
  static const char *const names[VF_PRELOAD_COUNTERS] = {
      "spins",           "spun",          "sleeps",        "wakes",
      "spin_lock_waits", "cond_spins",    "cond_spun",     "cond_sleeps",
      "cond_wakes",      "rwlock_spins",  "rwlock_spun",   "sem_spins",
      "sem_spun",        "barrier_waits", "barrier_sleeps"};
  const uint64_t *counters = vf_preload_counters_1;
  if (!vf_get(&vf_spin_shared_1.stats) ||
      vf_report_is_idle(counters, VF_PRELOAD_COUNTERS))
    return;
  static struct vf_report report;
  vf_report_verdict(&report,
                    "of %" PRIu64 " spins for mutexes %" PRIu64
                    " acquired one without sleep; "
                    "mutexes, conditions and barriers slept %" PRIu64 " times",
                    counters[VF_PRELOAD_SPINS], counters[VF_PRELOAD_SPUN],
                    counters[VF_PRELOAD_SLEEPS] +
                        counters[VF_PRELOAD_COND_SLEEPS] +
                        counters[VF_PRELOAD_BARRIER_SLEEPS]);
  vf_report_counters(&report, "vfpthread", names, vf_preload_counters_1,
                     VF_PRELOAD_COUNTERS);
  vf_report_end(&report);
}

/* Does not read VF_STATS: the constructor of spin-wait/tuning.c, which this
 * library contains, does so and reports errors. */
__attribute__((constructor)) static void configure(void) {
  vf_report_register("vfpthread", print);
}

__attribute__((destructor)) static void at_exit(void) {
  vf_report_at_exit(print);
}
