/*===- preload/spin.c - A bounded spin before libc's sleep ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "preload/spin.h"
#include "blocking-sync/adaptive_spin.h"
#include "common/hash.h"
#include "spin-wait/limit.h"

/* log2 of the unit of place.mark, 1 us. A mark wraps after 73 minutes. If an
 * old mark then looks new, it may keep other threads from spinning for
 * MARK_AGE. */
#define MARK_UNIT_LOG2 10
/* Age from which a mark is ignored: twice the maximum budget. The spinner that
 * set the mark has given up or was preempted by then, so another thread may
 * spin. */
#define MARK_AGE (2 * VF_BUDGET_MAX_NS >> MARK_UNIT_LOG2)
/* log2 of the number of waits without a spin after which one wait, a trial,
 * spins for the whole budget. If the trial succeeds, the next waits spin too.
 * Without trials two threads that wait for each other would never spin again
 * once both sleep: each wait then includes a wake-up, and so lasts longer than
 * the reduced budget. On average, trials cost each wait a 64th of the budget,
 * as much as a spin after VF_MAX_FAILED_SPINS failures does. */
#define TRIAL_LOG2 VF_MAX_FAILED_SPINS
/* log2 of the maximum number of waits until the next trial. Each failed trial
 * doubles that number, up to 1024: trials then cost less than the first read of
 * the object does. */
#define TRIAL_MAX_LOG2 10u
/* log2 of the number of objects that are tracked: as many as there are buckets
 * of spin waits, because only objects that threads wait for at the same time
 * can collide. */
#define PLACES_LOG2 8

static struct place {
  uint32_t mark;     /* when the spin began, 0 if no thread spins */
  uint16_t failed;   /* number of failed spins minus the successful ones */
  uint32_t waits;    /* number of waits since the last trial */
  uint32_t trials;   /* number of failed trials */
  uint64_t woken_at; /* time at which a thread was woken that has not run since;
                        0 if there is none */
} __attribute__((aligned(VF_CACHE_LINE))) places[1u << PLACES_LOG2];

static struct place *place_of(const void *object) {
  return &places[vf_hash(object, PLACES_LOG2)];
}

static uint32_t mark_for(uint64_t now) {
  uint32_t mark = (uint32_t)(now >> MARK_UNIT_LOG2);
  return mark ? mark : 1;
}

static bool become_spinner(struct place *place, uint32_t mark) {
  uint32_t other = vf_get(&place->mark);
  if (other != 0 && mark - other <= MARK_AGE)
    return false;
  return __atomic_compare_exchange_n(&place->mark, &other, mark, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool look_until(bool (*look)(void *what), void *what, uint64_t now,
                       uint64_t end) {
  unsigned pauses = VF_FIRST_PAUSES;
  for (bool here = true; here && now < end;) {
    here = vf_pause(&pauses, &now);
    if (look(what))
      return true;
  }
  return false;
}

static uint64_t time_left(const struct vf_deadline *deadline) {
  if (!deadline)
    return UINT64_MAX;
  struct timespec now;
  if (deadline->at.tv_nsec < 0 || deadline->at.tv_nsec > 999999999 ||
      (deadline->clock != CLOCK_MONOTONIC && deadline->clock != CLOCK_REALTIME))
    return 0;
  clock_gettime(deadline->clock, &now);
  if (deadline->at.tv_sec < now.tv_sec)
    return 0;
  /* A deadline this far away never ends a spin, and adding it cannot overflow.
   */
  if (deadline->at.tv_sec - now.tv_sec > 1)
    return UINT64_MAX;
  int64_t left = (deadline->at.tv_sec - now.tv_sec) * INT64_C(1000000000) +
                 deadline->at.tv_nsec - now.tv_nsec;
  return left > 0 ? (uint64_t)left : 0;
}

/* Counts a wait after failed spins. Returns true if this wait must be a trial.
 * The count is stored without a lock: a lost update makes the next trial come
 * earlier or later. */
static bool is_trial_due(struct place *place) {
  uint32_t waits = vf_get(&place->waits) + 1;
  bool is_due = waits >> (TRIAL_LOG2 + vf_get(&place->trials)) != 0;
  vf_set(&place->waits, is_due ? 0 : waits);
  return is_due;
}

static void learn(struct place *place, bool was_trial, bool got_it) {
  if (!was_trial) {
    vf_learn(&place->failed, got_it);
  } else if (got_it) {
    __atomic_store_n(&place->failed, 0, __ATOMIC_RELAXED);
    vf_set(&place->trials, 0);
  } else if (vf_get(&place->trials) < TRIAL_MAX_LOG2 - TRIAL_LOG2) {
    vf_set(&place->trials, vf_get(&place->trials) + 1);
  }
}

bool vf_spin(const void *object, const struct vf_spin_kind *kind,
             bool (*look)(void *what), void *what,
             const struct vf_deadline *deadline) {
  /* An attempt that succeeds at once is not recorded as a successful spin: a
   * woken thread mostly finds the object free, which says nothing about
   * spinning. */
  if (look(what))
    return true;
  struct place *place = place_of(object);
  uint16_t failed = __atomic_load_n(&place->failed, __ATOMIC_RELAXED);
  bool is_trial = failed != 0 && is_trial_due(place);
  if (!is_trial && failed >= kind->gives_up)
    return false;
  uint64_t left = time_left(deadline), now = vf_now_ns();
  uint32_t mark = mark_for(now);
  if (left == 0 || !become_spinner(place, mark))
    return false;
  vf_limit_look(now);
  uint64_t budget = vf_spin_budget_ns();
  if (!is_trial)
    budget = vf_limit_budget(budget, now) >> failed;
  bool got_it =
      look_until(look, what, now, now + (budget < left ? budget : left));
  learn(place, is_trial, got_it);
  if (vf_get(&place->mark) == mark)
    vf_set(&place->mark, 0);
  vf_count_preload(kind->counter);
  if (got_it)
    vf_count_preload(kind->counter + 1);
  return got_it;
}

struct vf_visit vf_spin_visit(const void *object,
                              const struct vf_spin_kind *kind,
                              bool (*look)(void *what), void *what,
                              enum vf_ends ends, clockid_t clock,
                              const struct timespec *at, uintptr_t site) {
  struct vf_deadline until = {.clock = clock};
  if (ends != VF_NEVER)
    until.at = *at;
  struct vf_visit visit = vf_visit_begin(site);
  if (!kind ||
      !vf_spin(object, kind, look, what, ends == VF_NEVER ? NULL : &until))
    vf_visit_slept(&visit);
  return visit;
}

/* Records when a thread is woken. If several wake-ups are pending, the time of
 * the first one is kept. If another thread than the one woken first runs first,
 * its wake-up seems slower than it was, which has little weight (tuning.c);
 * with the time of the last wake-up, it could seem faster than it was. If no
 * thread slept, the time is overwritten after the longest plausible wake-up. */
void vf_spin_wakes(const void *object) {
  uint64_t *woken_at = &place_of(object)->woken_at, now = vf_now_ns();
  if (now - __atomic_load_n(woken_at, __ATOMIC_RELAXED) > VF_WAKE_MAX_NS)
    __atomic_store_n(woken_at, now, __ATOMIC_RELAXED);
}

void vf_spin_woken(const void *object) {
  uint64_t *woken_at = &place_of(object)->woken_at;
  uint64_t then = __atomic_load_n(woken_at, __ATOMIC_RELAXED);
  if (then == 0)
    return; /* libc woke the thread, or another thread was quicker. */
  __atomic_store_n(woken_at, 0, __ATOMIC_RELAXED);
  vf_woke_since(then);
}
