/*===- gleaner/spread.h - Threads return to the CPUs that they had --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   gl_spread_note(&spread, record);    // before a fold
 *   ... the fold, and all CPUs again ...
 *   gl_spread_apply(&spread, record);
 *
 * After a fold Linux may leave threads that hand work to each other on one CPU,
 * although they may use all: a wake-up prefers the CPU of the waker. A
 * trial would compare the fold with that, and a lost one would cost the program
 * its second CPU. So each thread must run on its old CPU for a moment. It stays
 * there by itself afterwards, as on a CPU that it chose. A limit: a thread to
 * which the program gives a single CPU within these 3 ms loses it again.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_SPREAD_H
#define VFRIENDLY_GLEANER_SPREAD_H

#include "gleaner/record.h"

/* Of more threads some always find the idle CPUs, and noting them all would
 * take longer than a millisecond. */
#define GL_MOST_SPREAD 64

struct gl_spread {
  size_t n;
  struct {
    pid_t thread;
    unsigned cpu;
  } spots[GL_MOST_SPREAD];
};

/* Writes where each thread runs or ran at last; nothing if there are too many.
 * pre: no thread has an affinity of its own. */
void gl_spread_note(struct gl_spread *spread, const struct gl_record *record);

/* Makes threads that ran on other CPUs than record->kept run there once; takes
 * 3 ms if there are any. Does nothing if the program has given a thread a
 * single CPU since. pre: the workload has all its CPUs. */
void gl_spread_apply(const struct gl_spread *spread, struct gl_record *record);

/* Ends an application in which the daemon died, if there is one. */
void gl_spread_end(struct gl_record *record);

#endif /* VFRIENDLY_GLEANER_SPREAD_H */
