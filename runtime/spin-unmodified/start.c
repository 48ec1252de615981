/*===- spin-unmodified/start.c - Settings and the report ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   LD_PRELOAD=libvfspin.so PROGRAM
 *
 * Lets threads of a program that cannot be rebuilt give way while they spin and
 * CPUs are short:
 *
 *   arm.h      which threads: CPUs are short, and they run for long
 *   trigger.h  interrupts such a thread after it has used its CPU for a while
 *   handle.h   what then happens, on a stack of its own (signals.h)
 *   prove.h    whether the thread waits, by emulate.h
 *   give_way.h yields and sleeps until what it waits for has changed
 *
 *   VF_SPIN_UNMODIFIED=on|off  off: the library does nothing
 *   VF_STATS                   counters at exit (common/report.h)
 *===----------------------------------------------------------------------===*/

#include "common/environment.h"
#include "common/report.h"
#include "platform/linux/privilege.h"
#include "spin-unmodified/arm.h"
#include "spin-unmodified/counters.h"
#include "spin-unmodified/next.h"
#include "spin-unmodified/signals.h"
#include "spin-unmodified/threads.h"
#include "spin-unmodified/trigger.h"
#include "spin-wait/limit.h"
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

uint64_t vf_spin_unmodified_counters[VF_SPIN_UNMODIFIED_COUNTERS];

/* Sanitizers have signal handlers, stacks and shadow memory of their own. */
static bool has_sanitizer(void) {
  static const char *const names[] = {"__asan_init", "__tsan_init",
                                      "__msan_init", "__hwasan_init"};
  for (size_t i = 0; i != sizeof names / sizeof *names; ++i)
    if (dlsym(RTLD_DEFAULT, names[i]))
      return true;
  return false;
}

/* Returns why the library must do nothing in this process, or NULL. */
static const char *find_reason(void) {
  if (!vf_env_choice("VF_SPIN_UNMODIFIED", "off", "on", true))
    return "VF_SPIN_UNMODIFIED=off";
  if (vf_is_privileged())
    return "the program has rights that its user has not";
  if (has_sanitizer())
    return "the program has a sanitizer";
  if (vf_signals_choose() == 0)
    return "the program handles SIGURG and SIGWINCH";
  if (vf_trigger_find() == VF_TRIGGER_NONE)
    return "neither perf events nor fine timers are allowed: set "
           "kernel.perf_event_paranoid to 2 or less, or in a container allow "
           "perf_event_open";
  if (vf_threads_start() != 0)
    return "there is no memory";
  return NULL;
}

static void print(void) {
  static const char *const names[VF_SPIN_UNMODIFIED_COUNTERS] = {
      "computes", "polls",  "counts", "times",   "delays",
      "armed",    "yields", "naps",   "changed", "gave_way_us"};
  const uint64_t *counters = vf_spin_unmodified_counters;
  static struct vf_report report;
  if (vf_report_is_idle(counters, VF_SPIN_UNMODIFIED_COUNTERS))
    return;
  uint64_t waits = counters[VF_SPIN_POLLS] + counters[VF_SPIN_COUNTS] +
                   counters[VF_SPIN_TIMES] + counters[VF_SPIN_DELAYS];
  if (vf_arm_off)
    vf_report_verdict(&report, "nothing is done: %s", vf_arm_off);
  else if (counters[VF_SPIN_ARMED] == 0)
    vf_report_verdict(&report,
                      "CPUs were not short, or no thread ran for long, so "
                      "nothing was done");
  else
    vf_report_verdict(&report,
                      "threads were found waiting %" PRIu64 " times in %" PRIu64
                      ", and gave way for %" PRIu64 " ms",
                      waits, waits + counters[VF_SPIN_COMPUTES],
                      counters[VF_SPIN_GAVE_US] / 1000);
  vf_report_counters(&report, "vfspin", names, counters,
                     VF_SPIN_UNMODIFIED_COUNTERS);
  vf_report_limit(&report);
  vf_report_end(&report);
}

__attribute__((constructor)) static void configure(void) {
  int saved = errno;
  vf_env_check_names();
  vf_spin_next_look_up();
  vf_arm_off = find_reason();
  vf_arm_always(vf_env_get("VF_TEST_SPIN_ALWAYS") != NULL);
  if (vf_report_is_wanted())
    vf_report_register("vfspin", print);
  if (!vf_arm_off)
    vf_limit_start(&vf_cpu_groups_of_self);
  errno = saved;
}

__attribute__((destructor)) static void at_exit(void) {
  vf_report_at_exit(print);
}
