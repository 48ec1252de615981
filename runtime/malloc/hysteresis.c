/*===- malloc/hysteresis.c - When free memory is returned -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "malloc/hysteresis.h"
#include "common/environment.h"
#include "common/plain_lock.h"
#include "common/process_wide.h"
#include "malloc/cpu_cache.h"
#include "malloc/give.h"
#include "malloc/jemalloc.h"
#include "malloc/policy.h"
#include "platform/linux/kernel.h"
#include "platform/linux/privilege.h"
#include "platform/linux/shootdown.h"
#include "vfriendly/malloc.h"
#include <stdlib.h>

#define MOST_PERCENT 10000u
#define ALL (SIZE_MAX & ~(page_size - 1))

/* The default policy. With this hold_price and page faults of 2 us, a free page
 * is kept for 50 ms. The peaks of memory use in figure 7.3 of Schildermans'
 * thesis last 0.4 s, eight times as long, and come every 2 s. fault_ns and
 * call_ns are measured when a threshold is first exceeded. The terms of a
 * shootdown cannot be measured from within a process that does not run on
 * several CPUs: 1 us is 3200 cycles (section 7.2 there), three times as long on
 * another node, and about as long again for the exit to a hypervisor.
 * VF_MALLOC_SHOOTDOWN replaces them by what `vfriendly measure model` has
 * measured. */
static struct vf_policy policy = {
    .tune_percent = 100,
    .hold_price = 40000,
    .fault_ns = 2000,
    .call_ns = 10000,
    .shootdown = {.local_ns = 1000,
                  .remote_ns = 3000,
                  .exit_ns = 1000,
                  .nodes = 1},
};
size_t vf_worth = VF_WORTH;
static struct vf_return_counts counts;
static uint32_t giving; /* a lock */
/* True if the user gave the costs of a shootdown. */
static bool knows_shootdown;
static size_t page_size = 4096;

size_t vf_used_for_blocks(const struct vf_pages_totals *totals) {
  size_t own = vf_jemalloc_metadata();
  return totals->used > own ? totals->used - own : 0;
}

size_t vf_threshold(const struct vf_watch *watch,
                    const struct vf_pages_totals *totals) {
  size_t threshold =
      vf_policy_threshold(&policy, vf_used_for_blocks(totals), watch->cpus);
  return threshold > vf_worth ? threshold : vf_worth;
}

uint64_t vf_fault_costs_ns(size_t bytes) {
  return bytes / page_size * policy.fault_ns;
}

static size_t give(size_t bytes) {
  vf_plain_lock(&giving);
  struct vf_given given = vf_give_back(bytes);
  if (given.bytes != 0) {
    ++counts.returns;
    counts.ranges += given.ranges;
    counts.calls += given.calls;
    counts.bytes += given.bytes;
  }
  vf_plain_unlock(&giving, VF_PRIVATE);
  return given.bytes;
}

size_t vf_give_all(void) {
  vf_cpu_cache_empty();
  vf_jemalloc_release();
  return give(ALL);
}

/* Finds out once how TLBs are flushed, when the process uses more than one CPU:
 * kernels before 5.18 may take 10 ms to read /proc/cpuinfo. */
static void learn_flushes(const struct vf_watch *watch) {
  static bool done;
  if (watch->cpus <= 100 || vf_is_privileged() ||
      __atomic_exchange_n(&done, true, __ATOMIC_RELAXED))
    return;
  struct vf_flushes flushes = vf_flushes();
  policy.shootdown.nodes = flushes.nodes;
  policy.shootdown.is_broadcast = flushes.is_broadcast;
  if (!flushes.is_virtual && !knows_shootdown)
    policy.shootdown.exit_ns = 0;
}

static void look_slowly(struct vf_watch *watch, uint64_t now) {
  uint64_t cpu = vf_process_ns();
  if (now > watch->slow_at)
    watch->cpus =
        (uint32_t)((cpu - watch->cpu_then) * 100 / (now - watch->slow_at));
  watch->slow_at = now;
  watch->cpu_then = cpu;
  learn_flushes(watch);
}

/* Returns the minimum of free memory over the last VF_LOOKS examinations. */
static size_t least(const struct vf_watch *watch) {
  size_t result = watch->looks < VF_LOOKS ? 0 : SIZE_MAX;
  for (unsigned i = 0; i != VF_LOOKS && result != 0; ++i)
    if (watch->low[i] < result)
      result = watch->low[i];
  return result;
}

static void settle(struct vf_watch *watch, const struct vf_pages_totals *totals,
                   bool is_over) {
  if (watch->given == 0)
    return;
  size_t taken = (size_t)(totals->taken_clean - watch->taken_then);
  bool regretted = taken > watch->given / 2;
  if (!regretted && !is_over)
    return;
  counts.regrets += regretted;
  vf_policy_learn(&policy, watch->given, taken);
  watch->given = 0;
}

void vf_watch_end(struct vf_watch *watch) {
  struct vf_pages_totals totals = vf_pages_totals();
  settle(watch, &totals, true);
}

/* Measures the costs once, just before they are first needed. */
static void measure_costs(void) {
  static bool done;
  if (__atomic_exchange_n(&done, true, __ATOMIC_RELAXED))
    return;
  struct vf_costs costs = vf_give_costs();
  policy.fault_ns = costs.fault_ns;
  policy.call_ns = costs.call_ns;
}

static uint64_t pause_ns(const struct vf_watch *watch, size_t resident) {
  return vf_policy_hold_ns(&policy, resident / page_size, 1, watch->cpus) /
         VF_LOOKS;
}

uint64_t vf_first_pause_ns(const struct vf_watch *watch) {
  return pause_ns(watch, vf_worth);
}

static size_t above_padding(size_t bytes, size_t threshold) {
  size_t padding = vf_policy_padding(threshold);
  return bytes > padding ? (bytes - padding) & ~(page_size - 1) : 0;
}

size_t vf_give_excess(const struct vf_watch *watch) {
  struct vf_pages_totals totals = vf_pages_totals();
  size_t threshold = vf_threshold(watch, &totals);
  /* Measures the costs on which later decisions depend. */
  measure_costs();
  return give(above_padding(totals.resident, threshold));
}

void vf_watch_begin(struct vf_watch *watch) {
  *watch =
      (struct vf_watch){.slow_at = vf_now_ns(), .cpu_then = vf_process_ns()};
  vf_pages_lowest();
}

uint64_t vf_look(struct vf_watch *watch) {
  uint64_t now = vf_now_ns();
  if (now - watch->slow_at >= VF_SLOW_NS)
    look_slowly(watch, now);
  vf_cpu_cache_trim();
  vf_jemalloc_release();
  struct vf_pages_totals totals = vf_pages_totals();
  settle(watch, &totals, now >= watch->regret_until);
  watch->low[watch->looks++ % VF_LOOKS] = vf_pages_lowest();
  size_t threshold = vf_threshold(watch, &totals);
  size_t unused = least(watch);
  if (unused > threshold) {
    uint64_t hold =
        vf_policy_hold_ns(&policy, unused / page_size, 1, watch->cpus);
    watch->given = give(above_padding(unused, threshold));
    watch->taken_then = totals.taken_clean;
    watch->regret_until = now + VF_REGRET_HOLDS * hold;
    watch->looks = 0;
    totals = vf_pages_totals();
  }
  if (totals.resident <= threshold) {
    watch->looks = 0;
    return 0;
  }
  measure_costs();
  return pause_ns(watch, totals.resident);
}

struct vf_return_counts vf_return_counts(void) { return counts; }

/* Reads the three numbers of VF_MALLOC_SHOOTDOWN, in nanoseconds. */
static void read_shootdown(void) {
  enum { PARTS = 3 };
  static const uint64_t most = 1000000;
  uint64_t parts[PARTS];
  const char *value = vf_env_get("VF_MALLOC_SHOOTDOWN"), *at = value;
  if (!value)
    return;
  for (int i = 0; i != PARTS; ++i) {
    char *end;
    parts[i] = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : UINT64_MAX;
    if (parts[i] > most || *end != (i + 1 == PARTS ? '\0' : ',')) {
      vf_env_complain("VF_MALLOC_SHOOTDOWN", value,
                      "LOCAL,REMOTE,EXIT, each in 0..1000000",
                      "1000,3000,1000");
      return;
    }
    at = end + 1;
  }
  policy.shootdown.local_ns = parts[0];
  policy.shootdown.remote_ns = parts[1];
  policy.shootdown.exit_ns = parts[2];
  knows_shootdown = true;
}

VF_API int vf_malloc_set_sensitivity(unsigned percent) {
  if (percent > MOST_PERCENT)
    return EINVAL;
  __atomic_store_n(&policy.tune_percent, percent, __ATOMIC_RELAXED);
  return 0;
}

void vf_hysteresis_configure(void) {
  uint64_t number;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (page != page_size) /* Avoids a write, which would copy a page. */
    page_size = page;
  if (vf_env_number("VF_MALLOC_TUNE_PERCENT", 0, MOST_PERCENT,
                    policy.tune_percent, &number))
    policy.tune_percent = (uint32_t)number;
  if (vf_env_number("VF_MALLOC_HOLD_PRICE", 1, 1000000000, policy.hold_price,
                    &number))
    policy.hold_price = (uint32_t)number;
  if (vf_env_number("VF_MALLOC_FLOOR", 65536, 1000000000, VF_WORTH, &number))
    vf_worth = (size_t)number;
  read_shootdown();
}

void vf_giving_stop(void) { vf_plain_lock(&giving); }
void vf_giving_resume(void) { vf_plain_unlock(&giving, VF_PRIVATE); }

void vf_hysteresis_after_fork(void) {
  giving = VF_FREE; /* The thread that held the lock does not exist in the child
                       process. */
}
