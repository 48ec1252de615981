/*===- spin-wait/tuning.c - Settings and counters -------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-wait/tuning.h"
#include "common/environment.h"
#include "common/report.h"
#include "common/sites.h"
#include "spin-wait/blind.h"
#include "spin-wait/foreign.h"
#include "spin-wait/limit.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

uint32_t vf_spin_budget_ns(void) {
  uint32_t set = vf_get(&vf_spin_shared_1.budget_ns_plus_1);
  if (set != 0)
    return set - 1;
  uint32_t wake = vf_get(&vf_spin_shared_1.wake_ns);
  return wake != 0 ? wake + VF_SLEEP_COSTS_NS : VF_BUDGET_DEFAULT_NS;
}

/* Updates the estimated time of a wake-up. A step down is eight times a step
 * up, so the estimate converges to the quickest ninth of wake-ups: those in
 * which the thread did not wait for a CPU. The wake-ups are those of the
 * program itself. A constructor that started threads to measure wake-ups would
 * disturb programs that fork or drop privileges, and would measure an idle
 * machine. */
void vf_wake_took(uint64_t ns) {
  uint32_t wake = vf_get(&vf_spin_shared_1.wake_ns);
  if (wake == 0)
    wake = VF_BUDGET_DEFAULT_NS - VF_SLEEP_COSTS_NS;
  wake = ns < wake ? wake - wake / 8 : wake + wake / 64;
  if (wake < VF_WAKE_MIN_NS)
    wake = VF_WAKE_MIN_NS;
  if (wake > VF_WAKE_MAX_NS)
    wake = VF_WAKE_MAX_NS;
  vf_set(&vf_spin_shared_1.wake_ns, wake);
}

void vf_woke_since(uint64_t woken_at) {
  uint64_t now = vf_now_ns();
  uint32_t time = (uint32_t)(now >> VF_WAKE_EACH_LOG2);
  if (vf_get(&vf_spin_shared_1.recorded) == time)
    return;
  vf_set(&vf_spin_shared_1.recorded, time);
  vf_wake_took(now - woken_at);
}

static void print(void);

/* If a process contains several copies of libvfrt, only the copy whose
 * constructor runs first reads the environment, so that an error is reported
 * once and the shared counters are printed once. */
__attribute__((constructor)) static void configure(void) {
  struct vf_spin_shared *shared = &vf_spin_shared_1;
  int saved = errno;
  vf_limit_start(&vf_cpu_groups_of_self);
  errno = saved;
  if (__atomic_exchange_n(&shared->configured, 1, __ATOMIC_RELAXED) != 0) {
    /* Another copy counts. It may be unloaded before this one. */
    if (vf_get(&shared->stats) && vf_report_is_wanted())
      vf_report_register("vfrt", print);
    errno = saved;
    return;
  }
  vf_env_check_names();
  uint64_t budget;
  if (vf_env_number("VF_SPIN_BUDGET_NS", 0, VF_BUDGET_MAX_NS,
                    VF_BUDGET_DEFAULT_NS, &budget))
    vf_set(&shared->budget_ns_plus_1, (uint32_t)budget + 1);
  vf_set(&shared->notify_off,
         !vf_env_choice("VF_SPIN_NOTIFY", "off", "on", true));
  if (vf_report_is_wanted()) {
    vf_set(&shared->stats, 1);
    vf_report_register("vfrt", print);
  }
  vf_set(&shared->foreign, vf_find_foreign());
  errno = saved;
}

/* Says what the counters mean for a person who has not read shared.h. */
static void judge(struct vf_report *report) {
  const uint64_t *counters = vf_spin_shared_1.counters;
  uint64_t waits = vf_site_get(&counters[VF_SPIN_WAITS]);
  uint64_t slept = vf_site_get(&counters[VF_SPIN_BLOCKS]);
  uint64_t timeouts = vf_site_get(&counters[VF_SPIN_TIMEOUTS]);
  uint64_t blind = vf_site_get(&counters[VF_SPIN_BLIND_SLEEPS]);
  if (waits == 0)
    vf_report_verdict(report, "no rewritten wait was long enough to count");
  else if (blind > slept)
    vf_report_verdict(report, "most sleeps ended by time, because the writer "
                              "does not notify: compile it with vfriendly too");
  else if (slept == 0)
    vf_report_verdict(report, "waits were short: none slept");
  else
    vf_report_verdict(report,
                      "threads slept %" PRIu64 " times instead of spinning, in "
                      "%" PRIu64 " waits; %" PRIu64 " sleeps ended by time",
                      slept, waits, timeouts);
}

/* Weak: defined in libvfpthread, which contains this file. */
extern VF_API uint64_t vf_preload_counters_1[] __attribute__((weak));

/* Weak: libvfpthread contains this file, but not numa-placement. */
__attribute__((weak)) void vf_report_numa(struct vf_report *report);

static void print(void) {
  static const char *const names[VF_SPIN_COUNTERS] = {
      "waits", "spun",     "yields",       "blocks",    "timeouts",
      "wakes", "notifies", "blind_sleeps", "overcommit"};
  static struct vf_report report;
  if (vf_preload_counters_1 &&
      vf_report_is_idle(vf_spin_shared_1.counters, VF_SPIN_COUNTERS))
    return;
  judge(&report);
  vf_report_counters(&report, "vfrt", names, vf_spin_shared_1.counters,
                     VF_SPIN_COUNTERS);
  vf_report_sites(&report);
  vf_report_blind(&report);
  vf_report_limit(&report);
  if (vf_report_numa)
    vf_report_numa(&report);
  vf_report_end(&report);
}

__attribute__((destructor)) static void at_exit(void) {
  vf_report_at_exit(print);
}
