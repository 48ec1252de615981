/*===- spin-wait/foreign.h - Programs that replace sched_yield ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A library of fibers may define sched_yield as its switch, and a simulator
 * nanosleep or clock_gettime. A loop that calls such a function waits for what
 * the function itself does in this thread, so a wait that gave the CPU to other
 * threads after each of the loop's calls would only delay it: 300 switches of
 * fibers took 10 s instead of 0.1 ms. In such a process all waits only pause.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_FOREIGN_H
#define VFRIENDLY_SPIN_WAIT_FOREIGN_H

#include "spin-wait/shared.h"
#include <stdbool.h>

/* Returns true if sched_yield, nanosleep or clock_gettime, as this library sees
 * it, is neither in libc nor in the vDSO. Sanitizers, which pass such calls on
 * to libc, do not count. Returns false if it cannot be found out: without
 * dladdr, and in static programs, where the pass still compares the names that
 * libc has twice (fallback/calls.ll). */
bool vf_find_foreign(void);

static inline bool vf_calls_are_foreign(void) {
  return __builtin_expect(vf_get(&vf_spin_shared_1.foreign) != 0, 0);
}

#endif /* VFRIENDLY_SPIN_WAIT_FOREIGN_H */
