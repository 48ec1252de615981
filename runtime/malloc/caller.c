/*===- malloc/caller.c - Hysteresis in the freeing thread -----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * In a single-threaded process, returning memory interrupts no other CPU. It
 * costs only the page faults on returned memory that is needed again. Memory
 * may be returned early as long as these faults take a small share of the time:
 * each early return is charged for the returned memory that is allocated again
 * later. When the credit is used up, memory is returned only by the regular
 * looks (hysteresis.h), after a hold.
 *===----------------------------------------------------------------------===*/

#include "malloc/caller.h"
#include "common/plain_lock.h"
#include "malloc/hysteresis.h"
#include "malloc/jemalloc.h"
#include "platform/linux/kernel.h"

/* Memory is returned early, before the end of its hold, only as long as
 * touching such memory again takes less than a 32nd, 3 %, of the program's
 * time. */
#define CREDIT_SHIFT 5
/* Maximum credit: CPU time that may be saved up for returns. It suffices to
 * return a gigabyte once after a long time without returns. */
#define CREDIT_MAX_NS INT64_C(100000000)
/* Initial credit, for a return before any time has been measured. */
#define CREDIT_FIRST_NS INT64_C(1000000)

static struct {
  uint32_t lock; /* a plain lock */
  bool has_begun;
  struct vf_watch watch;
  uint64_t look_at, credited_at;
  int64_t credit_ns;
  uint64_t taken_then; /* value of totals.taken_clean at the last update */
  size_t outstanding;  /* bytes returned early, and not allocated again since */
} here;

static void begin(uint64_t now) {
  here.has_begun = true;
  vf_watch_begin(&here.watch);
  here.look_at = now + vf_first_pause_ns(&here.watch);
  here.credited_at = now;
  here.credit_ns = CREDIT_FIRST_NS;
  here.outstanding = 0;
}

static void settle(const struct vf_pages_totals *totals, uint64_t now) {
  here.credit_ns += (int64_t)((now - here.credited_at) >> CREDIT_SHIFT);
  here.credited_at = now;
  if (here.credit_ns > CREDIT_MAX_NS)
    here.credit_ns = CREDIT_MAX_NS;
  size_t taken = (size_t)(totals->taken_clean - here.taken_then);
  here.taken_then = totals->taken_clean;
  if (taken > here.outstanding)
    taken = here.outstanding;
  here.outstanding -= taken;
  here.credit_ns -= (int64_t)vf_fault_costs_ns(taken);
}

/* Examines free memory now. If it exceeds the threshold, returns it to the
 * kernel except for the padding. */
static void look_early(void) {
  vf_jemalloc_release();
  struct vf_pages_totals totals = vf_pages_totals();
  if (totals.resident > vf_threshold(&here.watch, &totals))
    here.outstanding += vf_give_excess(&here.watch);
}

static void look_in_time(uint64_t now) {
  uint64_t pause = vf_look(&here.watch);
  here.look_at = now + (pause ? pause : vf_first_pause_ns(&here.watch));
}

bool vf_caller_look(size_t drained) {
  struct vf_pages_totals totals = vf_pages_totals();
  if (vf_used_for_blocks(&totals) + totals.resident <= vf_worth)
    return false;
  if (!vf_plain_try(&here.lock)) /* Another thread is examining free memory. */
    return false;
  uint64_t now = vf_now_ns();
  if (!here.has_begun)
    begin(now);
  settle(&totals, now);
  /* `drained` is compared with half of the threshold, because frees of up to
   * the other half may not have been reported yet. */
  bool is_early =
      here.credit_ns > 0 && drained >= vf_threshold(&here.watch, &totals) / 2;
  bool is_time = now >= here.look_at;
  if (is_time)
    look_in_time(now);
  if (is_early)
    look_early();
  vf_plain_unlock(&here.lock, VF_PRIVATE);
  return is_early || is_time;
}

void vf_caller_after_fork(void) {
  here.lock = VF_FREE; /* The thread that held the lock does not exist in the
                          child process. */
  here.has_begun = false;
}
