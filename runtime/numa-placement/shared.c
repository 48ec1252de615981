/*===- numa-placement/shared.c - Settings and counters --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "numa-placement/shared.h"
#include "common/environment.h"
#include "common/report.h"
#include <errno.h>
#include <inttypes.h>

VF_PROCESS_WIDE(vf_numa_shared_1, VF_NUMA_SHARED_SIZE);
_Static_assert(sizeof(struct vf_numa_shared) == VF_NUMA_SHARED_SIZE,
               "the assembler cannot ask for it");

__attribute__((constructor)) static void configure(void) {
  struct vf_numa_shared *shared = &vf_numa_shared_1;
  if (__atomic_exchange_n(&shared->configured, 1, __ATOMIC_RELAXED) != 0)
    return;
  int saved = errno;
  vf_set(&shared->touch_off,
         !vf_env_choice("VF_NUMA_OPAQUE", "off", "touch", true));
  errno = saved;
}

/* Overrides a weak function of spin-wait/tuning.c that prints libvfrt's report.
 */
void vf_report_numa(struct vf_report *report) {
  static const char *const names[VF_NUMA_COUNTERS] = {
      "placed",  "touched", "one_node", "small", "heap",
      "refused", "unbound", "claimed",  "copied"};
  vf_report_add(report, ", \"numa\": {");
  for (int i = 0; i < VF_NUMA_COUNTERS; ++i)
    vf_report_add(
        report, "%s\"%s\": %" PRIu64, i ? ", " : "", names[i],
        __atomic_load_n(&vf_numa_shared_1.counters[i], __ATOMIC_RELAXED));
  vf_report_add(report, "}");
}
