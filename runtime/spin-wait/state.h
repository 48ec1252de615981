/*===- spin-wait/state.h - State of a wait in one word --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The caller keeps the state in a register from one failed poll to the next. It
 * is not in thread-local storage, so waits in signal handlers and coroutines
 * need no special handling. If a field wraps or saturates, a phase starts again
 * or gets longer; neither can lose a wake-up.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_STATE_H
#define VFRIENDLY_SPIN_WAIT_STATE_H

#include <stdint.h>

struct vf_field {
  unsigned shift, bits;
};

/* When the wait first read the clock, in units of 4.1 us. Wraps after 275 s:
 * the wait then yields and sleeps as if it had just begun. */
static const struct vf_field VF_STARTED = {0, 26};
/* Low bits of the bucket's seq at the time this wait armed it; valid if
 * VF_SNAPPED is set. Exactly 65536 notifies between two polls would go
 * unnoticed, which costs a timeout. */
static const struct vf_field VF_SNAPSHOT = {26, 16};
/* Time spent so far on pauses and on yields without effect, in units of 256 ns.
 * Saturates at 1.05 ms, above the largest budget. */
static const struct vf_field VF_BURNT = {42, 12};
/* Opening phase: calls so far. Spinning phase: log2 of the pauses in a batch.
 * Yielding phase: yields so far. */
static const struct vf_field VF_ROUND = {54, 5};
static const struct vf_field VF_SNAPPED = {59, 1};
/* Set if the last sleep timed out. If the caller passes a state with this bit,
 * the condition of the wait is still false, so the sleep missed no notify. */
static const struct vf_field VF_TIMED_OUT = {60, 1};
static const struct vf_field VF_PHASE = {61, 2};

enum { VF_OPENING, VF_SPINNING, VF_YIELDING, VF_BLOCKING };

/* Set in every returned state, so that no state is 0. */
#define VF_LIVE (UINT64_C(1) << 63)

#define VF_STARTED_UNIT_LOG2 12
#define VF_BURNT_UNIT_NS 256u

static inline uint64_t vf_max(struct vf_field f) {
  return (UINT64_C(1) << f.bits) - 1;
}

static inline uint64_t vf_field(uint64_t state, struct vf_field f) {
  return state >> f.shift & vf_max(f);
}

/* Returns state with field f set to the low bits of value. */
static inline uint64_t vf_with(uint64_t state, struct vf_field f,
                               uint64_t value) {
  return (state & ~(vf_max(f) << f.shift)) | (value & vf_max(f)) << f.shift;
}

static inline uint64_t vf_started_at(uint64_t state, uint64_t now) {
  return vf_with(state, VF_STARTED, now >> VF_STARTED_UNIT_LOG2);
}

/* Returns the nanoseconds since vf_started_at, to within 4.1 us. */
static inline uint64_t vf_waited(uint64_t state, uint64_t now) {
  uint64_t units = (now >> VF_STARTED_UNIT_LOG2) - vf_field(state, VF_STARTED);
  return (units & vf_max(VF_STARTED)) << VF_STARTED_UNIT_LOG2;
}

static inline uint64_t vf_burnt(uint64_t state) {
  return vf_field(state, VF_BURNT) * VF_BURNT_UNIT_NS;
}

/* Adds ns to the time spent, at least one unit, so that each budget ends even
 * if the clock stands still. */
static inline uint64_t vf_burn(uint64_t state, uint64_t ns) {
  uint64_t units = (ns + VF_BURNT_UNIT_NS / 2) / VF_BURNT_UNIT_NS;
  uint64_t burnt = vf_field(state, VF_BURNT) + (units ? units : 1);
  return vf_with(state, VF_BURNT,
                 burnt < vf_max(VF_BURNT) ? burnt : vf_max(VF_BURNT));
}

/* Returns true if the wait would yield next. */
static inline int vf_would_yield(uint64_t state) {
  return vf_field(state, VF_PHASE) == VF_YIELDING;
}

/* Returns true if the wait has used up its budget and would block next. */
static inline int vf_would_block(uint64_t state) {
  return vf_field(state, VF_PHASE) == VF_BLOCKING;
}

#endif /* VFRIENDLY_SPIN_WAIT_STATE_H */
