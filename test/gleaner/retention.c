// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When CPUs are kept awake, and by what a trial of that is judged.
//
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -Werror -I %S/Inputs -I %S/../Inputs -I %vf_include -I %vf_src/runtime %s %vf_src/runtime/gleaner/load.c %vf_src/runtime/gleaner/trial.c %vf_src/runtime/gleaner/policy.c %vf_src/runtime/gleaner/propose.c %vf_src/runtime/gleaner/reason.c -lm -o %t
// RUN: %t

#include "check.h"
#include "window.h"
#include <math.h>

static int about(double is, double should) {
  return fabs(is - should) <= 1e-9 + 1e-6 * fabs(should);
}

static struct gl_settings only;

static void retains(void) {
  struct gl_state state;
  gl_policy_start(&state, 4);
  CHECK(until(&state, &only, GL_TRY_RETENTION, 1, 1.2).cpus == 4);
  struct gl_decision d = until(&state, &only, GL_KEEP_RETENTION, 1, 1.2);
  CHECK(d.retain && about(d.timeout_s, 600e-6) && d.gain > 0.19);
  // Idle periods vanish.
  struct gl_sample s = window();
  s.active_idle_s = 0.001;
  gl_policy_step(&only, &state, &s);
  d = gl_policy_step(&only, &state, &s);
  CHECK(!d.retain && d.reason == GL_IDLE_GONE);
  // No gain: refused.
  gl_policy_start(&state, 4);
  d = until(&state, &only, GL_LOSE_RETENTION, 1, 0.99);
  CHECK(!d.retain);
  // Long waits, a CPU limit: not even tried.
  gl_policy_start(&state, 4);
  s = window();
  s.active_periods /= 40; // 800 us each
  CHECK(gl_policy_step(&only, &state, &s).reason == GL_LONG_WAITS);
  s.active_periods /= 4;
  CHECK(gl_policy_step(&only, &state, &s).reason == GL_QUIET);
  s = window();
  s.limit = 2;
  CHECK(gl_policy_step(&only, &state, &s).reason == GL_LIMITED);
}

// What of a program changes if its CPUs are kept awake; 1: nothing.
struct change {
  double switches, user, moved, calls, progress;
};

// Returns how its trial ends. `calls` of reading and writing for each switch,
// of a hundred bytes each, up to a hundredth more or less.
static enum gl_reason outcome(struct change by, double calls) {
  struct gl_state state;
  gl_policy_start(&state, 4);
  struct gl_decision d = {.cpus = 4};
  for (int i = 0; i < 200 && d.reason < GL_KEEP_RETENTION; ++i) {
    struct gl_sample s = window();
    double scale = (d.window_s > 0 ? d.window_s : GL_WINDOW_S) / s.seconds;
    s.seconds *= scale;
    s.calls = calls * s.switches * (1 + i % 3 * 0.005);
    s.moved = 100 * s.calls;
    s.progress = s.switches;
    if (d.retain) {
      s.switches *= by.switches, s.user_s *= by.user, s.moved *= by.moved;
      s.calls *= by.calls, s.progress *= by.progress;
    }
    s.switches *= scale, s.user_s *= scale, s.moved *= scale;
    s.calls *= scale, s.progress *= scale, s.work_s *= scale;
    s.idle_s *= scale, s.idle_periods *= scale;
    s.active_idle_s *= scale, s.active_periods *= scale;
    d = gl_policy_step(&only, &state, &s);
  }
  return d.reason;
}

static void judges(void) {
  // Without bytes switches must rise, and user time.
  CHECK(outcome((struct change){1.2, 1.2, 1, 1, 1}, 0) == GL_KEEP_RETENTION);
  CHECK(outcome((struct change){1.2, 0.8, 1, 1, 1}, 0) == GL_LOSE_RETENTION);
  CHECK(outcome((struct change){1.2, 0.99, 1, 1, 1}, 0) == GL_LOSE_RETENTION);
  CHECK(outcome((struct change){1.04, 1.2, 1, 1, 1}, 0) == GL_LOSE_RETENTION);
  // The same for a program that reads now and then; not if that gets less.
  CHECK(outcome((struct change){1.2, 1.2, 1, 1, 1}, 0.1) == GL_KEEP_RETENTION);
  CHECK(outcome((struct change){1.2, 1.2, 0.95, 0.95, 1}, 0.1) ==
        GL_LOSE_RETENTION);
  // A server: bytes must rise, whatever else does. It makes more calls if it is
  // woken sooner, for smaller pieces.
  CHECK(outcome((struct change){1.3, 1.3, 1, 1, 1}, 2) == GL_LOSE_RETENTION);
  CHECK(outcome((struct change){1.3, 1.3, 1, 1.3, 1}, 2) == GL_LOSE_RETENTION);
  CHECK(outcome((struct change){1.3, 1.3, 0.95, 1, 1}, 2) == GL_LOSE_RETENTION);
  CHECK(outcome((struct change){1.3, 1.3, 1.04, 1, 1}, 2) == GL_LOSE_RETENTION);
  CHECK(outcome((struct change){1.3, 1.3, 1.1, 1.1, 1}, 2) ==
        GL_KEEP_RETENTION);
  CHECK(outcome((struct change){1, 1, 1.1, 1.1, 1}, 2) == GL_KEEP_RETENTION);
  // Its own metric is right against all of them, and 4 % of it are enough.
  only.has_metric = true;
  CHECK(outcome((struct change){0.9, 0.9, 0.9, 0.9, 1.04}, 2) ==
        GL_KEEP_RETENTION);
  CHECK(outcome((struct change){1.2, 1.2, 1.2, 1.2, 1}, 2) ==
        GL_LOSE_RETENTION);
  only.has_metric = false;
}

// After the trial was won there is less progress than before it: it is tried
// again at once, and lost. As much or more: only after the usual time.
static void rechecks(void) {
  for (int later = 0; later < 3; ++later) {
    const double then[] = {0.9, 1.0, 1.2};
    struct gl_state state;
    gl_policy_start(&state, 4);
    until(&state, &only, GL_KEEP_RETENTION, 1, 1.2);
    double after = 0;
    struct gl_decision d = {0};
    for (; d.reason != GL_TRY_RETENTION; after += GL_WINDOW_S) {
      struct gl_sample s = window();
      s.switches *= then[later];
      d = gl_policy_step(&only, &state, &s);
      CHECK((d.retain || d.reason == GL_TRY_RETENTION) && after < 10);
    }
    CHECK(later == 0 ? after > 1.9 && after < 2.6 : after > 3.9);
    // Those who still see 20 % more keep it, and are not asked again so soon.
    d = until(&state, &only, GL_KEEP_RETENTION, 1, 1.2);
    CHECK(d.retain && state.verify_s[GL_RETAIN] > 7);
  }
}

// A pair that hands over uses more than one CPU can give while CPUs are kept
// awake, and fitted on one before. That is tried; not if it never fitted.
static void folds_what_is_retained(void) {
  for (int fitted = 0; fitted < 2; ++fitted) {
    struct gl_state state;
    gl_policy_start(&state, 2);
    struct gl_decision d = {.cpus = 2};
    bool kept = false;
    for (int i = 0; i < 200 && d.reason != GL_TRY_FOLD; ++i) {
      struct gl_sample s = window();
      s.cpus = s.active = 2, s.kept = d.cpus;
      bool retained = d.retain;
      s.switches *= retained ? 2.25 : 1.5, s.user_s *= retained ? 1.5 : 1;
      s.work_s = (retained ? 1.45 : fitted ? 1 : 1.4) * s.seconds;
      s.idle_s = s.active_idle_s = 2 * s.seconds - s.work_s;
      d = gl_policy_step(&on, &state, &s);
      kept = kept || d.reason == GL_KEEP_RETENTION;
    }
    CHECK(kept && (d.reason == GL_TRY_FOLD) == fitted);
  }
}

int main(void) {
  only = on;
  only.may_fold = false;
  retains();
  judges();
  rechecks();
  folds_what_is_retained();
  return 0;
}
