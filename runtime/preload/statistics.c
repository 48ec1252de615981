/*===- preload/statistics.c - What VF_STATS=1 prints ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "preload/statistics.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

uint64_t vf_preload_counters[VF_PRELOAD_COUNTERS]
    __attribute__((aligned(VF_CACHE_LINE)));

__attribute__((destructor)) static void report(void) {
  static const char *const names[VF_PRELOAD_COUNTERS] = {
      "spins", "spun", "sleeps", "wakes", "spin_lock_waits"};
  if (!vf_get(&vf_spin_shared_1.stats))
    return;
  char line[256]; /* Five names and 20 digits each take 180. */
  int n = snprintf(line, sizeof line, "{\"vfpthread\": {");
  for (int i = 0; i < VF_PRELOAD_COUNTERS; ++i)
    n += snprintf(line + n, sizeof line - (size_t)n, "%s\"%s\": %" PRIu64,
                  i ? ", " : "", names[i],
                  __atomic_load_n(&vf_preload_counters[i], __ATOMIC_RELAXED));
  n += snprintf(line + n, sizeof line - (size_t)n, "}}\n");
  if (write(STDERR_FILENO, line, (size_t)n) < 0)
    return; /* Nobody left to tell. */
}
