/*===- numa-placement/preload/start.c - Reads settings, prints counters -===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Reads the settings in a constructor and reports the counters at exit. No
 * other file of the library depends on this one.
 *===----------------------------------------------------------------------===*/

#include "common/environment.h"
#include "common/report.h"
#include "common/sandbox.h"
#include "numa-placement/machine.h"
#include "numa-placement/preload/allocations.h"
#include "numa-placement/preload/cpus.h"
#include "numa-placement/preload/settings.h"
#include "numa-placement/preload/threads.h"
#include "vfriendly/numa.h"
#include <pthread.h>

static void read_placement(void) {
  static const char *const words[] = {"off", "ft", "interleave", "blocks"};
  static const int policies[] = {-1, VF_NUMA_FT, VF_NUMA_R4K, VF_NUMA_BLOCKS};
  uint64_t least = VF_NUMA_MIN_DEFAULT;
  int policy = policies[vf_env_word("VF_NUMA", words, 4, 0)];
  vf_env_number("VF_NUMA_MIN", VF_NUMA_LEAST, PTRDIFF_MAX, VF_NUMA_MIN_DEFAULT,
                &least);
  struct vf_nodes allowed;
  if (policy < 0 || vf_numa_nodes_here(&allowed) == 1)
    return;
  vf_numa_settings.policy = policy;
  vf_numa_prepare_allocations((size_t)least);
  __atomic_store_n(&vf_numa_settings.least, (size_t)least, __ATOMIC_RELEASE);
}

static void print(void);

__attribute__((constructor)) static void configure(void) {
  int saved = errno;
  /* Sets vf_spin_shared_1.stats, because this process may not contain libvfrt,
   * whose constructor does the same. */
  if (vf_report_is_wanted()) {
    vf_set(&vf_spin_shared_1.stats, 1);
    vf_report_register("vfnuma", print);
  }
  vf_env_check_names();
  vf_cpus_remember();
  read_placement();
  vf_pin_configure();
  pthread_atfork(NULL, NULL, vf_sandbox_forked);
  errno = saved;
}

static void print(void) {
  static const char *const names[VF_NUMA_PRELOAD_COUNTERS] = {
      "blocks", "mappings", "in_heap",     "touched_by_mmap",
      "pinned", "pin_kept", "pin_refused", "remapped"};
  static struct vf_report report;
  if (vf_report_is_idle(vf_numa_preload_counters, VF_NUMA_PRELOAD_COUNTERS) &&
      vf_report_is_idle(vf_numa_shared_1.counters, VF_NUMA_COUNTERS))
    return;
  struct vf_nodes allowed;
  unsigned nodes = vf_numa_nodes_here(&allowed);
  if (nodes < 2)
    vf_report_verdict(&report, "one NUMA node: there is nothing to place");
  else
    vf_report_verdict(&report, "memory is placed on %u NUMA nodes", nodes);
  vf_report_counters(&report, "vfnuma", names, vf_numa_preload_counters,
                     VF_NUMA_PRELOAD_COUNTERS);
  vf_report_add(&report, ", \"nodes\": %u", nodes);
  vf_report_numa(&report);
  vf_report_end(&report);
}

__attribute__((destructor)) static void at_exit(void) {
  vf_report_at_exit(print);
}
