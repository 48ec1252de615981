/*===- gleaner/place.h - Confining the workload to CPUs -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   gl_place_open(record, means);          // the supervisor, before the
 * command gl_place_join(record, command); gl_place_confine(record, &fewer);
 *  // the daemon gl_place_release(record);              // either of them, and
 * `repair` gl_place_close(record);                // the supervisor, at the end
 *
 * By a cgroup with a cpuset (v2, else v1) where one can be made, else by the
 * affinity of each thread. The rule for affinities of the program's own: a
 * workload in which any thread has one is never confined, and what a program
 * sets while it is confined stays. With a cpuset, a program that asks for a CPU
 * it is just kept from gets EINVAL, and gets it 50 ms later: gl_place_is_pinned
 * then finds its other affinities, or none.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_PLACE_H
#define VFRIENDLY_GLEANER_PLACE_H

#include "gleaner/record.h"

/* Set in the environment of the command to the supervisor's process id and
 * start time: finds the workload after the supervisor died. */
#define GL_SESSION "GLEANER_SESSION"
#define GL_SESSION_FORMAT "%d.%llu"

/* Makes the cgroup, by the first of v2 and v1 that works unless `means` is
 * GL_AFFINITY, and writes to the record what was made. Never fails: affinities
 * need nothing. */
void gl_place_open(struct gl_record *record, enum gl_means means);

/* Returns 0 or an errno value. pre: the process has not started other threads.
 */
int gl_place_join(const struct gl_record *record, pid_t process);

/* Appends processes or threads of the workload. */
void gl_place_processes(const struct gl_record *record, struct gl_ids *ids);
void gl_place_threads(const struct gl_record *record, struct gl_ids *ids);

typedef bool gl_affinity_test(const struct gl_record *record,
                              const struct gl_cpus *is);

/* Gives each thread whose affinity passes the test the affinity to, threads
 * that are created meanwhile included. */
void gl_place_move(const struct gl_record *record, gl_affinity_test *moves,
                   const struct gl_cpus *to);

/* Returns true if a thread has an affinity that is neither all CPUs of the
 * workload nor those to which it is confined. */
bool gl_place_is_pinned(const struct gl_record *record,
                        const struct gl_ids *threads);

/* Confines the workload to CPUs, which are also written to record->kept. If
 * that fails, for example as the cgroup was removed, it gets all CPUs back.
 * Returns 0 or an errno value. */
int gl_place_confine(struct gl_record *record, const struct gl_cpus *cpus);

/* Gives the workload all its CPUs back. Returns 0 or an errno value. */
int gl_place_release(struct gl_record *record);

/* Releases, moves what still runs to the group from which it came, and removes
 * the cgroup. */
void gl_place_close(struct gl_record *record);

#endif /* VFRIENDLY_GLEANER_PLACE_H */
