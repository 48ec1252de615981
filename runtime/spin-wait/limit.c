/*===- spin-wait/limit.c - Waiting under a limit of CPU time --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-wait/limit.h"
#include "platform/linux/kernel.h"
#include "platform/linux/privilege.h"
#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#define VF_LIMIT_SIZE 2752
/* Not shared: the copy that found the groups may be unloaded. */
static const struct vf_cpu_groups_at *groups_at = &vf_cpu_groups_of_self;

VF_PROCESS_WIDE(vf_limit_1, VF_LIMIT_SIZE);
_Static_assert(sizeof vf_limit_1 == VF_LIMIT_SIZE,
               "VF_LIMIT_SIZE is what the assembler reserves");

/* Times between readings, in units of 2^20 ns. With a limit, 100 ms, the usual
 * period of limits: more readings see nothing new. A reading takes some 10 us.
 * Without one, half a second, so that a new limit is noticed within a second.
 */
#define READ_EVERY 96u
#define WATCH_EVERY 512u
#define STALE 1907u /* 2 s, see vf_limit_shared.reading */
/* Used share of the limit, in thousandths, below which waits may spin more, and
 * above which they must spin less. Between them a decision has no effect that
 * the next reading could see: 1/16 of the waits moves the use by less than 10
 * %. */
#define SPARE_PERMILLE 850u
#define NEAR_PERMILLE 950u
/* Number of times that the groups are found anew. Each opens files; a process
 * is rarely moved to another group. */
#define ATTEMPTS_MAX 16u

static uint32_t unit_of(uint64_t now) {
  uint32_t unit = (uint32_t)(now >> VF_LIMIT_UNIT_LOG2);
  return unit ? unit : 1;
}

static void read_again_after(uint64_t now, uint32_t units) {
  vf_set(&vf_limit_1.next, unit_of(now + ((uint64_t)units << 20)));
}

/* Returns the used share of the limit. If the kernel does not tell it for the
 * group, it is at least that of this process. */
static uint32_t used_permille(const struct vf_cpu_reading *reading) {
  uint64_t used = vf_process_ns(), own = used - vf_limit_1.used_ns;
  vf_limit_1.used_ns = used;
  if (reading->used_permille != VF_USE_UNKNOWN)
    return reading->used_permille;
  uint64_t may = reading->elapsed_ns / 1000 * reading->millicpus;
  own *= 1000;
  return may == 0 ? 0 : own / may < 1000000 ? (uint32_t)(own / may) : 1000000;
}

static enum vf_limit_reason reason_of(const struct vf_cpu_reading *reading,
                                      uint32_t permille) {
  if (reading->millicpus == VF_NO_LIMIT)
    return VF_LIMIT_NONE;
  if (reading->throttled != 0)
    return VF_LIMIT_THROTTLED;
  /* Under a limit of all CPUs, a group that uses it up is not stopped. */
  return permille > NEAR_PERMILLE && reading->millicpus / 1000 < vf_limit_1.cpus
             ? VF_LIMIT_NEAR
             : VF_LIMIT_SPARE;
}

static void decide(const struct vf_cpu_reading *reading) {
  struct vf_limit_shared *shared = &vf_limit_1;
  uint32_t permille = used_permille(reading);
  vf_set(&shared->millicpus, reading->millicpus);
  if (reading->elapsed_ns == 0)
    return;
  uint32_t thrifty = vf_get(&shared->thrifty);
  enum vf_limit_reason reason = reason_of(reading, permille);
  switch (reason) {
  case VF_LIMIT_NONE:
    thrifty = 0;
    break;
  case VF_LIMIT_THROTTLED:
    thrifty = VF_THRIFT_MAX;
    break;
  case VF_LIMIT_NEAR:
    thrifty += VF_THRIFT_OF / 4;
    if (thrifty > VF_THRIFT_MAX)
      thrifty = VF_THRIFT_MAX;
    break;
  default:
    if (permille < SPARE_PERMILLE ||
        reading->millicpus / 1000 >= vf_limit_1.cpus)
      thrifty -= thrifty < VF_THRIFT_OF / 16 ? thrifty : VF_THRIFT_OF / 16;
  }
  vf_set(&shared->thrifty, thrifty);
  vf_set(&shared->readings, vf_get(&shared->readings) + 1);
  vf_set(&shared->reasons[reason], vf_get(&shared->reasons[reason]) + 1);
  vf_set(&shared->last, reason);
}

/* Without further groups to read, waits are as without a limit. Leaves open
 * what is open: closing it may not be allowed. */
static void give_up(void) {
  vf_set(&vf_limit_1.thrifty, 0);
  vf_set(&vf_limit_1.last, VF_LIMIT_NONE);
  vf_set(&vf_limit_1.next, 0);
}

/* Returns true if the program has installed a seccomp filter since the groups
 * were looked for: a system call that was allowed then may kill it now. */
static bool is_filtered(void) {
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != vf_limit_1.seccomp;
}

/* Finds the groups anew after one vanished or got a limit. */
static bool find_again(void) {
  return ++vf_limit_1.attempts <= ATTEMPTS_MAX &&
         vf_cpu_groups_find(&vf_limit_1.groups, groups_at) == 0;
}

static void read_now(uint64_t now) {
  struct vf_cpu_reading reading;
  int error = is_filtered()
                  ? EPERM
                  : vf_cpu_groups_read(&vf_limit_1.groups, now, &reading);
  if (error == ESTALE && find_again())
    error = vf_cpu_groups_read(&vf_limit_1.groups, now, &reading);
  if (error) {
    give_up();
    return;
  }
  decide(&reading);
  uint32_t period =
      (uint32_t)((uint64_t)reading.period_us * 1000 >> VF_LIMIT_UNIT_LOG2);
  read_again_after(now, reading.millicpus == VF_NO_LIMIT ? WATCH_EVERY
                        : period > READ_EVERY            ? period
                                                         : READ_EVERY);
}

void vf_limit_read(uint64_t now) {
  uint32_t unit = unit_of(now), other = vf_get(&vf_limit_1.reading);
  if ((other != 0 && unit - other < STALE) ||
      !__atomic_compare_exchange_n(&vf_limit_1.reading, &other, unit, false,
                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return;
  int saved = errno;
  read_now(now);
  errno = saved;
  __atomic_store_n(&vf_limit_1.reading, 0, __ATOMIC_RELEASE);
}

uint64_t vf_limit_cpu_ns(void) {
  struct timespec t;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0
             ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec
             : 0;
}

/* One that the kernel interrupted for long moves the average by an eighth of
 * the maximum of vf_limit_sleep_costs. */
void vf_limit_measured(uint32_t *average, uint64_t cpu, uint32_t n) {
  uint64_t took = (vf_limit_cpu_ns() - cpu) / n;
  uint32_t last = vf_get(average), now = took < 4 * VF_SLEEP_COSTS_NS
                                             ? (uint32_t)took
                                             : 4 * VF_SLEEP_COSTS_NS;
  vf_set(average, last == 0 ? now : last - last / 8 + now / 8);
}

/* Values of vf_spin_bucket.began. */
enum { NOT_SPINNING, THRIFTY, TRIAL };

void vf_limit_began(struct vf_spin_bucket *bucket, uint64_t began) {
  uint32_t failed = vf_get(&bucket->failed), last = vf_get(&bucket->began);
  if (failed != 0 && last != NOT_SPINNING)
    vf_set(&bucket->failed, last == TRIAL ? 0 : failed - 1);
  bool counts = vf_limit_is_thrifty(bucket, began);
  vf_set(&bucket->began, counts ? THRIFTY : TRIAL);
  if (counts && vf_get(&vf_spin_shared_1.stats))
    __atomic_fetch_add(&vf_limit_1.thrifty_waits, 1, __ATOMIC_RELAXED);
}

void vf_limit_blocks(struct vf_spin_bucket *bucket) {
  uint32_t failed = vf_get(&bucket->failed);
  if (failed < VF_FAILED_SPINS ||
      (failed < VF_FAILED_MAX && vf_get(&bucket->began) == TRIAL))
    vf_set(&bucket->failed, failed + 1);
  vf_set(&bucket->began, NOT_SPINNING);
}

void vf_limit_end(void) { vf_cpu_groups_close(&vf_limit_1.groups); }

void vf_limit_start(const struct vf_cpu_groups_at *where) {
  groups_at = where;
  if (__atomic_exchange_n(&vf_limit_1.started, 1, __ATOMIC_RELAXED) != 0)
    return;
  vf_limit_1.cpus = vf_cpus();
  vf_limit_1.seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  if (!vf_is_privileged() && vf_cpu_groups_find(&vf_limit_1.groups, where) == 0)
    read_now(vf_now_ns());
}

void vf_report_limit(struct vf_report *report) {
  static const char *const names[VF_LIMIT_REASONS] = {"none", "spare", "near",
                                                      "throttled"};
  const struct vf_limit_shared *shared = &vf_limit_1;
  uint32_t millicpus = vf_get(&shared->millicpus);
  if (vf_get(&shared->next) == 0 ||
      (millicpus == VF_NO_LIMIT &&
       vf_get(&shared->readings) == vf_get(&shared->reasons[VF_LIMIT_NONE])))
    return;
  vf_report_add(report, ", \"limit\": {\"cpus\": ");
  if (millicpus == VF_NO_LIMIT)
    vf_report_add(report, "null");
  else
    vf_report_add(report, "%u.%03u", millicpus / 1000, millicpus % 1000);
  vf_report_add(report, ", \"readings\": %u", vf_get(&shared->readings));
  for (int i = 0; i != VF_LIMIT_REASONS; ++i)
    vf_report_add(report, ", \"%s\": %u", names[i],
                  vf_get(&shared->reasons[i]));
  vf_report_add(report,
                ", \"last\": \"%s\", \"thrifty\": %u, \"thrifty_waits\": %u, "
                "\"sleep_costs_ns\": %u}",
                names[vf_get(&shared->last)], vf_get(&shared->thrifty),
                vf_get(&shared->thrifty_waits),
                (unsigned)vf_limit_sleep_costs());
}
