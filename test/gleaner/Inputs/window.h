// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A window of a program on four CPUs, for tests of the policy.

#ifndef VF_TEST_GLEANER_WINDOW_H
#define VF_TEST_GLEANER_WINDOW_H

#include "gleaner/policy.h"
#include <stdio.h>
#include <stdlib.h>

static const struct gl_settings on = {
    .wake_cost_s = 20e-6, .may_retain = true, .may_fold = true};

static inline struct gl_sample window(void) {
  // Four CPUs, each idle for 20 us after 10 us.
  return (struct gl_sample){.seconds = GL_WINDOW_S,
                            .cpus = 4,
                            .kept = 4,
                            .active = 4,
                            .work_s = 0.0667,
                            .user_s = 0.05,
                            .switches = 6667,
                            .idle_s = 0.1333,
                            .idle_periods = 6667,
                            .active_idle_s = 0.1333,
                            .active_periods = 6667,
                            .busiest = 0.4,
                            .progress = -1};
}

// Returns the first decision with the reason, or fails. Progress while folded
// and while retained is so many times that without.
static inline struct gl_decision until(struct gl_state *state,
                                       const struct gl_settings *settings,
                                       enum gl_reason reason, double folded,
                                       double retained) {
  struct gl_decision d = {.cpus = 4};
  for (int i = 0; i < 200; ++i) {
    struct gl_sample s = window();
    s.kept = d.cpus;
    s.seconds = d.window_s > 0 ? d.window_s : GL_WINDOW_S;
    double scale = s.seconds / GL_WINDOW_S;
    if (d.cpus < 4)
      s.user_s *= folded;
    if (d.retain)
      s.switches *= retained, s.user_s *= retained;
    s.user_s *= scale, s.switches *= scale, s.work_s *= scale;
    d = gl_policy_step(settings, state, &s);
    if (d.reason == reason)
      return d;
  }
  fprintf(stderr, "never: %s\n", gl_reason_text(reason));
  abort();
}

#endif
