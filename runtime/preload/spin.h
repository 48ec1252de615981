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
 * At most one thread spins for an object at a time: more spinners would compete
 * with the holder for the cache line and with other threads for CPUs, and
 * usually only one could succeed.
 *
 * A table, indexed by a hash of the object's address, records whether a thread
 * spins and whether spinning has paid off so far. Wrong entries only cost time.
 * A spinner's mark is the time at which it began, and is ignored after the
 * longest possible spin. So it does not matter if a mark is never cleared: in a
 * forked child, after a signal handler has jumped out of the spin, or if the
 * spinner of another object has overwritten it.
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
      counter;       /* counts spins; the next counter, successful ones */
  unsigned gives_up; /* after this many failures only trials spin */
};

/* Number of failures after which waits of a kind no longer spin, except for
 * trials. Each failure halves the budget. Waits for events stop after three:
 * the remaining eighth of the budget, 6 us, is less than any wait that includes
 * a wake-up (spin-wait/tuning.h). Waits for locks never stop: a lock may well
 * become free within the minimum budget of a microsecond. */
#define VF_SPIN_EVENT 3
#define VF_SPIN_LOCK UINT_MAX

/* Calls look(what), which may take what it finds, until it returns true, the
 * budget of waits for this object is used up, the deadline passes, or another
 * thread spins for it. Returns look's last result.
 *
 * deadline may be null, and need not be valid: an invalid one leaves no time.
 */
bool vf_spin(const void *object, const struct vf_spin_kind *kind,
             bool (*look)(void *what), void *what,
             const struct vf_deadline *deadline);

/* How a call's wait ends: never, at a time of CLOCK_REALTIME, or at a time of
 * the clock that the call names. */
enum vf_ends { VF_NEVER, VF_AT, VF_AT_CLOCK };

/* Begins a wait at the site, and spins unless kind is null. */
struct vf_visit vf_spin_visit(const void *object,
                              const struct vf_spin_kind *kind,
                              bool (*look)(void *what), void *what,
                              enum vf_ends ends, clockid_t clock,
                              const struct timespec *at, uintptr_t site);

/* vf_spin_wakes is called right before the kernel is told to wake a thread that
 * sleeps on object; vf_spin_woken is called by a sleeper that the kernel has
 * woken. Both use only the address of object. The measured wake-up time
 * determines the length of spins (vf_woke_since). */
void vf_spin_wakes(const void *object);
void vf_spin_woken(const void *object);

/* Records the end of a call of a libc function that may wait. `what` is the
 * kind of the object that the function waits for (libc.h); *visit is zero if
 * the call did not wait. Returns result, which is the result of that function.
 */
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
