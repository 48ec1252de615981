/*===- preload/spin.h - A bounded spin before libc's sleep ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   if (!there(sem))
 *     vf_spin(sem, &spins, there, sem, deadline);
 *   return libc's sem_wait(sem);
 *
 * At most one spins for an object at a time: more would take the line from who
 * is waited for, and the CPU from others, and mostly only one can win.
 *
 * Whether one spins, and whether that was worth it so far, is noted in a table
 * by the object's address. What stands there costs time only. A spinner's mark
 * is the time it began, and void once any spinner must have given up: so it
 * does not matter if it never clears it, in a forked child (by whatever kind of
 * fork), or as a signal handler jumped out, or as another object's spinner
 * overwrote it.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PRELOAD_SPIN_H
#define VFRIENDLY_PRELOAD_SPIN_H

#include "platform/linux/kernel.h"
#include "preload/statistics.h"
#include <stdbool.h>

struct vf_spin_kind {
  enum vf_preload_counter
      counter;       /* the one behind it: those that ended well */
  unsigned gives_up; /* after how many in vain */
};

/* Of the budget an eighth is left by then, 6 us: less than any wait that a
 * wake-up is part of (spin-wait/tuning.h). A lock may well be free within the
 * microsecond that is left in the end. */
#define VF_SPIN_EVENT 3
#define VF_SPIN_LOCK UINT_MAX

/* Looks until look(what), which may take what it finds, says true, the budget
 * of waits for this object is used up, the time is up, or another spins for it.
 * Whether look said true.
 *
 * deadline may be null, and need not be valid: then no time is left. */
bool vf_spin(const void *object, const struct vf_spin_kind *kind,
             bool (*look)(void *what), void *what,
             const struct vf_deadline *deadline);

/* The same for a function that gets its deadline in pieces. */
static inline bool vf_spin_until(const void *object,
                                 const struct vf_spin_kind *kind,
                                 bool (*look)(void *what), void *what,
                                 clockid_t clock, const struct timespec *at) {
  struct vf_deadline deadline = {clock, *at};
  return vf_spin(object, kind, look, what, &deadline);
}

#endif /* VFRIENDLY_PRELOAD_SPIN_H */
