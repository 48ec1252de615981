/*===- malloc/statistics.c - Statistics of the allocator ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "common/environment.h"
#include "common/process_wide.h"
#include "common/report.h"
#include "malloc/helper.h"
#include "malloc/hysteresis.h"
#include "malloc/pages.h"
#include "malloc/start.h"
#include "vfriendly/malloc.h"
#include <inttypes.h>
#include <string.h>

static struct vf_malloc_stats stats_of(struct vf_pages_totals pages) {
  struct vf_return_counts returns = vf_return_counts();
  return (struct vf_malloc_stats){
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
}

/* What a process maps at its first allocation: GROW_MIN of pages.c. */
#define FIRST_MAPPING ((uint64_t)2 << 20)

VF_API void vf_malloc_stats(struct vf_malloc_stats *stats, size_t size) {
  struct vf_malloc_stats all = stats_of(vf_pages_totals());
  memcpy(stats, &all, size < sizeof all ? size : sizeof all);
}

static void print(void) {
  static const char *const names[] = {
      "used",  "resident_free", "mapped",   "frees",   "returns",
      "calls", "avoided",       "returned", "regrets", "pressure"};
  struct vf_malloc_stats s = stats_of(vf_pages_totals_unlocked());
  uint64_t counters[] = {s.used,    s.resident_free, s.mapped,  s.frees,
                         s.returns, s.calls,         s.avoided, s.returned,
                         s.regrets, s.pressure};
  static struct vf_report report;
  /* A process that got no more than the first mapping, such as sh, which starts
   * the program of interest, has nothing to report. */
  const uint64_t returned[] = {s.frees, s.returns};
  if (s.mapped <= FIRST_MAPPING && vf_report_is_idle(returned, 2))
    return;
  vf_report_verdict(&report,
                    "%" PRIu64 " frees of pages led to %" PRIu64
                    " calls that return memory to the kernel; %" PRIu64
                    " MB in use, %" PRIu64 " MB kept",
                    s.frees, s.calls, s.used / 1000000,
                    s.resident_free / 1000000);
  vf_report_counters(&report, "vfmalloc", names, counters,
                     sizeof counters / sizeof *counters);
  vf_report_end(&report);
}

static __typeof(vf_malloc_stats) own_stats
    __attribute__((alias("vf_malloc_stats")));

/* Returns true if this copy of the library is the one that the dynamic linker
 * finds first. If there are several copies in a process, that one allocates all
 * blocks. */
static bool is_found_first(void) {
  void (*volatile found)(struct vf_malloc_stats *, size_t) = vf_malloc_stats;
  return found == own_stats;
}

VF_AT_START __attribute__((constructor)) static void configure(void) {
  vf_env_check_names();
  vf_hysteresis_configure();
  if (vf_report_is_wanted() && is_found_first())
    vf_report_register("vfmalloc", print);
}

__attribute__((destructor)) static void at_exit(void) {
  vf_report_at_exit(print);
}
