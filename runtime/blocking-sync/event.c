/*===- blocking-sync/event.c - Manual-reset events ------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "vfriendly/event.h"
#include "blocking-sync/waiting.h"
#include "common/sites.h"

#define SET 1u
#define SLEEPERS 2u
/* Each vf_event_set adds this number, so the word counts the calls of
 * vf_event_set. A waiter that sees a different count returns, even if the event
 * was reset before the waiter ran. The count wraps after 2^30 calls: a waiter
 * misses the event if exactly that many calls happen during its wait. */
#define ONE_SET 4u

static uint32_t load(const vf_event *event) {
  return __atomic_load_n(&event->word_, __ATOMIC_ACQUIRE);
}

static bool is_over(uint32_t word, uint32_t begin) {
  return (word & SET) || (word & ~(SET | SLEEPERS)) != begin;
}

static int wait(vf_event *event, const struct vf_deadline *deadline,
                struct vf_visit *visit) {
  uint32_t word = load(event), begin = word & ~(SET | SLEEPERS);
  uint64_t state = 0;
  while (!is_over(word, begin) && vf_keep_spinning(&state, deadline))
    word = load(event);

  while (!is_over(word, begin)) {
    if (!(word & SLEEPERS)) {
      if (!__atomic_compare_exchange_n(&event->word_, &word, word | SLEEPERS,
                                       false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED)) {
        word = load(event);
        continue;
      }
      word |= SLEEPERS;
    }
    vf_visit_slept(visit);
    int result = vf_futex_wait_until(&event->word_, word, deadline,
                                     vf_scope(event->flags_));
    word = load(event);
    if (result == ETIMEDOUT)
      return is_over(word, begin) ? 0 : ETIMEDOUT;
  }
  return 0;
}

static int visit(vf_event *event, const struct vf_deadline *deadline,
                 uintptr_t site) {
  struct vf_visit visit = vf_visit_begin(site);
  int result = wait(event, deadline, &visit);
  vf_visit_end(&visit);
  return result;
}

VF_API int vf_event_init(vf_event *event, unsigned flags) {
  if (!vf_flags_are_good(flags))
    return EINVAL;
  *event = (vf_event){0, flags};
  return 0;
}

VF_API int vf_event_destroy(vf_event *event) {
  (void)event;
  return 0;
}

VF_API int vf_event_wait(vf_event *event) {
  return load(event) & SET ? 0 : visit(event, NULL, VF_CALLER);
}

VF_API int vf_event_trywait(vf_event *event) {
  return load(event) & SET ? 0 : EAGAIN;
}

VF_API int vf_event_clockwait(vf_event *event, clockid_t clock,
                              const struct timespec *at) {
  if (load(event) & SET)
    return 0;
  struct vf_deadline deadline;
  int error = vf_deadline_from(&deadline, clock, at);
  return error ? error : visit(event, &deadline, VF_CALLER);
}

VF_API int vf_event_set(vf_event *event) {
  enum vf_scope scope = vf_scope(event->flags_);
  uint32_t word = __atomic_load_n(&event->word_, __ATOMIC_RELAXED), set;
  do
    set = (word & SET) ? word : ((word + ONE_SET) & ~SLEEPERS) | SET;
  while (!__atomic_compare_exchange_n(&event->word_, &word, set, false,
                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  if (word & SLEEPERS)
    vf_futex_wake(&event->word_, INT_MAX, scope);
  return 0;
}

VF_API int vf_event_reset(vf_event *event) {
  __atomic_fetch_and(&event->word_, ~SET, __ATOMIC_RELAXED);
  return 0;
}
