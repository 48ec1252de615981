/*===- preload/statistics.c - What VF_STATS=1 prints ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "preload/statistics.h"
#include "common/report.h"

uint64_t vf_preload_counters[VF_PRELOAD_COUNTERS]
    __attribute__((aligned(VF_CACHE_LINE)));

__attribute__((destructor)) static void report(void) {
  static const char *const names[VF_PRELOAD_COUNTERS] = {
      "spins",           "spun",          "sleeps",        "wakes",
      "spin_lock_waits", "cond_spins",    "cond_spun",     "cond_sleeps",
      "cond_wakes",      "rwlock_spins",  "rwlock_spun",   "sem_spins",
      "sem_spun",        "barrier_waits", "barrier_sleeps"};
  if (!vf_get(&vf_spin_shared_1.stats))
    return;
  struct vf_report report = {.length = 0};
  vf_report_counters(&report, "vfpthread", names, vf_preload_counters,
                     VF_PRELOAD_COUNTERS);
  vf_report_end(&report);
}
