/*===- gleaner/propose.h - What may be worth a trial ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the policy (policy.h) asks of a window that is not of a trial:
 *
 *   if (gl_propose_retention(&settings, &sample, &load) == GL_STEADY)
 *     ... try to keep CPUs awake for gl_longest_wait(&settings, &sample) ...
 *   if (gl_propose_fold(&settings, &state, &sample, &load, &cause, &why_not) <
 *       state.kept)
 *     ... try so many CPUs ...
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_PROPOSE_H
#define VFRIENDLY_GLEANER_PROPOSE_H

#include "gleaner/policy.h"

/* Share of time that the host takes from a guest now and then on an idle
 * machine. More means that others want its CPUs. */
#define GL_STEAL_SHARE 0.01

/* At least this share of steal or throttling proposes fewer CPUs. A trial that
 * meets so much steal, with either setting, begins anew with the longest
 * windows: hosts give a vCPU turns of 3 ms and much more, so in 50 ms it may
 * have twice the CPU time of the next 50. */
#define GL_CROWDED_SHARE 0.1

/* Returns the share of the kept CPUs' time that the host took. */
double gl_stolen_share(const struct gl_sample *sample);

/* Returns how long a CPU that waits is worth keeping awake. */
double gl_longest_wait(const struct gl_settings *settings,
                       const struct gl_sample *sample);

/* Returns GL_STEADY if CPUs are worth retaining, else why not. */
enum gl_reason gl_propose_retention(const struct gl_settings *settings,
                                    const struct gl_sample *sample,
                                    const struct gl_load *load);

/* Returns the number of CPUs to try, or that of all if there is no reason to
 * use fewer; writes the cause or why not. */
unsigned gl_propose_fold(const struct gl_settings *settings,
                         const struct gl_state *state,
                         const struct gl_sample *sample,
                         const struct gl_load *load, enum gl_cause *cause,
                         enum gl_reason *reason);

#endif /* VFRIENDLY_GLEANER_PROPOSE_H */
