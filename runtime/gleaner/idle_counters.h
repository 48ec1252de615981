/*===- gleaner/idle_counters.h - Idle periods and steal of CPUs -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_IDLE_COUNTERS_H
#define VFRIENDLY_GLEANER_IDLE_COUNTERS_H

#include "gleaner/sense.h"

/* Opens the counters of n CPUs by the first source that has all of them. */
enum gl_idle_source gl_open_idle(struct gl_sensed *cpus, unsigned n);
void gl_close_idle(struct gl_sensed *cpus, unsigned n);

/* Goes on or stops counting events: each costs time at both ends of an idle
 * period, and a waker waits for the second. */
void gl_count_idle(struct gl_sensed *cpus, unsigned n, bool on);

/* Adds the CPU's idle time, where the source knows it, and its idle periods
 * since boot or since they were opened. Time in which the idle loop polls is
 * not counted: the CPU is not lost then. */
void gl_read_idle(struct gl_sensed *cpu, enum gl_idle_source source,
                  double *idle_s, double *periods);

/* Updates stolen_share, by the time since the last call. */
void gl_read_steal(struct gl_sensed *cpus, unsigned n, double seconds);

#endif /* VFRIENDLY_GLEANER_IDLE_COUNTERS_H */
