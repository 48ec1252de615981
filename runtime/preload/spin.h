/*===- preload/spin.h - A bounded spin before libc's sleep ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   struct vf_visit visit = {0};
 *   if (!there(sem))
 *     visit = vf_spin_visit(sem, &spins, there, sem, VF_NEVER, CLOCK_REALTIME,
 *                           NULL, VF_CALLER);
 *   return vf_counted(libc's sem_wait(sem), VF_SEMS, &visit, VF_CALLER);
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

#include "common/sites.h"
#include "platform/linux/kernel.h"
#include "preload/libc.h"
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

/* When a call's wait ends: never, at a time of CLOCK_REALTIME, or at a time of
 * the clock that it names. */
enum vf_ends { VF_NEVER, VF_AT, VF_AT_CLOCK };

/* A visit of the site that spins first; kind is null if it must not. */
struct vf_visit vf_spin_visit(const void *object,
                              const struct vf_spin_kind *kind,
                              bool (*look)(void *what), void *what,
                              enum vf_ends ends, clockid_t clock,
                              const struct timespec *at, uintptr_t site);

/* Called right before the kernel is told to wake one that sleeps for object, of
 * which only the address is used; and by a sleeper that the kernel says was
 * woken. How long it took is what spins are as long as (vf_wake_took). */
void vf_spin_wakes(const void *object);
void vf_spin_woken(const void *object);

/* The end of a call of libc's, one of what (libc.h), that was for the visit,
 * which is zero if it did not have to wait. Returns the call's result. */
static inline int vf_counted(int result, uint32_t what,
                             const struct vf_visit *visit, uintptr_t site) {
  if (vf_sites_are_on()) {
    vf_visit_end(visit);
    if (result == 0 && vf_is_on(what))
      vf_site_passed(site);
  }
  return result;
}

#endif /* VFRIENDLY_PRELOAD_SPIN_H */
