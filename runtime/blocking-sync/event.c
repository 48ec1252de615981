/*===- blocking-sync/event.c - Manual-reset events ------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "vfriendly/event.h"
#include "blocking-sync/waiting.h"

enum { UNSET, SET, UNSET_SLEEPERS };

static bool is_set(const vf_event *event) {
  return __atomic_load_n(&event->word_, __ATOMIC_ACQUIRE) == SET;
}

static int wait(vf_event *event, const struct vf_deadline *deadline) {
  uint64_t state = 0;
  do
    if (is_set(event))
      return 0;
  while (vf_keep_spinning(&state));

  for (;;) {
    uint32_t word = UNSET;
    if (!__atomic_compare_exchange_n(&event->word_, &word, UNSET_SLEEPERS,
                                     false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_ACQUIRE) &&
        word == SET)
      return 0;
    if (vf_futex_wait_until(&event->word_, UNSET_SLEEPERS, deadline,
                            vf_scope(event->flags_)) == ETIMEDOUT)
      return is_set(event) ? 0 : ETIMEDOUT;
  }
}

VF_API int vf_event_init(vf_event *event, unsigned flags) {
  if (!vf_flags_are_good(flags))
    return EINVAL;
  *event = (vf_event){UNSET, flags};
  return 0;
}

VF_API int vf_event_destroy(vf_event *event) {
  (void)event;
  return 0;
}

VF_API int vf_event_wait(vf_event *event) { return wait(event, NULL); }

VF_API int vf_event_trywait(vf_event *event) {
  return is_set(event) ? 0 : EAGAIN;
}

VF_API int vf_event_clockwait(vf_event *event, clockid_t clock,
                              const struct timespec *at) {
  if (is_set(event))
    return 0;
  struct vf_deadline deadline;
  int error = vf_deadline_from(&deadline, clock, at);
  return error ? error : wait(event, &deadline);
}

VF_API int vf_event_set(vf_event *event) {
  enum vf_scope scope = vf_scope(event->flags_);
  if (__atomic_exchange_n(&event->word_, SET, __ATOMIC_RELEASE) ==
      UNSET_SLEEPERS)
    vf_futex_wake(&event->word_, INT_MAX, scope);
  return 0;
}

VF_API int vf_event_reset(vf_event *event) {
  uint32_t word = SET;
  __atomic_compare_exchange_n(&event->word_, &word, UNSET, false,
                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return 0;
}
