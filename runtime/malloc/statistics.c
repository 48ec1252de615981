/*===- malloc/statistics.c - What the allocator did -----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "common/environment.h"
#include "common/process_wide.h"
#include "common/report.h"
#include "malloc/helper.h"
#include "malloc/hysteresis.h"
#include "malloc/pages.h"
#include "vfriendly/malloc.h"
#include <string.h>

VF_API void vf_malloc_stats(struct vf_malloc_stats *stats, size_t size) {
  struct vf_pages_totals pages = vf_pages_totals();
  struct vf_return_counts returns = vf_return_counts();
  struct vf_malloc_stats all = {
      .used = pages.used,
      .resident_free = pages.resident,
      .mapped = pages.mapped,
      .frees = pages.puts,
      .returns = returns.returns,
      .calls = returns.calls,
      .avoided = pages.puts > returns.calls ? pages.puts - returns.calls : 0,
      .returned = returns.bytes,
      .regrets = returns.regrets,
      .pressure = vf_helper_pressure(),
  };
  memcpy(stats, &all, size < sizeof all ? size : sizeof all);
}

static bool is_on;

__attribute__((constructor)) static void configure(void) {
  vf_env_check_names();
  vf_hysteresis_configure();
  is_on = vf_report_is_wanted();
}

__attribute__((destructor)) static void report(void) {
  static const char *const names[] = {
      "used",  "resident_free", "mapped",   "frees",   "returns",
      "calls", "avoided",       "returned", "regrets", "pressure"};
  if (!is_on)
    return;
  struct vf_malloc_stats s;
  vf_malloc_stats(&s, sizeof s);
  uint64_t counters[] = {s.used,    s.resident_free, s.mapped,  s.frees,
                         s.returns, s.calls,         s.avoided, s.returned,
                         s.regrets, s.pressure};
  struct vf_report text = {0};
  vf_report_counters(&text, "vfmalloc", names, counters,
                     sizeof counters / sizeof *counters);
  vf_report_end(&text);
}
