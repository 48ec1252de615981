// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gleaner's conditions and rules by its own figures, and trials by made-up
// progress.
//
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -Werror -I %S/Inputs -I %S/../Inputs -I %vf_include -I %vf_src/runtime %s %vf_src/runtime/gleaner/load.c %vf_src/runtime/gleaner/trial.c %vf_src/runtime/gleaner/policy.c %vf_src/runtime/gleaner/propose.c %vf_src/runtime/gleaner/reason.c -lm -o %t
// RUN: %t

#include "gleaner/policy.h"
#include "check.h"
#include "gleaner/beat.h"
#include "window.h"
#include <math.h>
#include <string.h>

static const double t = 1e-3;

static int about(double is, double should) {
  return fabs(is - should) <= 1e-9 + 1e-6 * fabs(should);
}

// Figure 4a, above: three vCPUs, each computes for 2t and is idle for t; each
// thread computes for t. Two vCPUs hold it.
static void figure_4a(void) {
  struct gl_sample s = {.seconds = 30 * t,
                        .cpus = 3,
                        .kept = 3,
                        .work_s = 60 * t,
                        .switches = 60,
                        .idle_s = 30 * t,
                        .idle_periods = 30};
  struct gl_load load = gl_load_of(&s);
  CHECK(about(load.l_comp, 2 * t) && about(load.g_comp, t) &&
        about(load.l_idle, t));
  struct gl_factors one = {1, 1};
  CHECK(gl_conditions(&load, &one, 0) == 0);
  // It fills the two: with any reserve there is no room.
  struct gl_factors rho = {0.9, 1};
  CHECK(gl_conditions(&load, &rho, 0) == GL_FULL);
}

// Figure 4b: the same vCPUs, but threads compute for 2t at a time, which no
// idle period can take.
static void figure_4b(void) {
  struct gl_load load = {
      .n = 3, .l_comp = 2 * t, .g_comp = 2 * t, .l_idle = t, .used = 2};
  struct gl_factors one = {1, 1};
  CHECK(gl_conditions(&load, &one, 0) == GL_COARSE);
  // Computations above the minimum time slice stay where they are, however long
  // the idle periods.
  load = (struct gl_load){
      .n = 16, .l_comp = 4 * t, .g_comp = 4 * t, .l_idle = 400 * t};
  CHECK(gl_conditions(&load, &one, 0) == GL_COARSE);
}

// A serial pair on two vCPUs: each uses a little more than half.
static void margin(void) {
  struct gl_load pair = {
      .n = 2, .l_comp = 11e-6, .g_comp = 8e-6, .l_idle = 9e-6, .used = 1.1};
  struct gl_factors factors = {0.9, 0.9};
  CHECK(gl_conditions(&pair, &factors, 0) == GL_FULL);
  CHECK(gl_conditions(&pair, &factors, GL_MARGIN) == 0);
  pair.used = 1.3;
  CHECK(gl_conditions(&pair, &factors, GL_MARGIN) == GL_FULL);
  // One vCPU is not given up.
  pair = (struct gl_load){
      .n = 1, .l_comp = 1e-6, .g_comp = 1e-6, .l_idle = 1, .used = 0.01};
  CHECK(gl_conditions(&pair, &factors, GL_MARGIN) & GL_FULL);
}

static void adjusts(void) {
  struct gl_load load = {
      .n = 3, .l_comp = 1 * t, .g_comp = 0.5 * t, .l_idle = t};
  struct gl_factors f = {0.9, 0.9};
  gl_adjust(&f, &load, true); // overloaded: 0.9 min(eta, g_comp / l_idle)
  CHECK(about(f.eta, 0.45) && about(f.rho, 0.9));
  CHECK(gl_conditions(&load, &f, 0) == GL_COARSE);
  f = (struct gl_factors){0.9, 0.9};
  gl_adjust(&f, &load, false); // 0.9 min(rho, l_comp / ((N - 1) l_idle))
  CHECK(about(f.rho, 0.45) && about(f.eta, 0.9));
  CHECK(gl_conditions(&load, &f, 0) == GL_FULL);
  load.g_comp = 5 * t;
  gl_adjust(&f, &load, true);
  CHECK(about(f.eta, 0.81)); // the factor was the smaller
  load.l_idle = 0;
  gl_adjust(&f, &load, true);
  CHECK(f.eta > 0 && f.eta < 0.81);
}

static void changes(void) {
  struct gl_load was = {.per_cpu = 0.5, .g_comp = t}, is = was;
  CHECK(!gl_changed(&was, &is));
  is.per_cpu = 0.69;
  CHECK(!gl_changed(&was, &is));
  is.per_cpu = 0.71;
  CHECK(gl_changed(&was, &is));
  is.per_cpu = 0.29;
  CHECK(gl_changed(&was, &is));
  is = was;
  is.g_comp = 2.1 * t;
  CHECK(gl_changed(&was, &is));
  is.g_comp = 0.4 * t;
  CHECK(gl_changed(&was, &is));
  is.g_comp = 0.6 * t;
  CHECK(!gl_changed(&was, &is));
}

static enum gl_verdict after(int windows, const double *progress, double gain) {
  struct gl_trial trial = {0};
  enum gl_verdict verdict = GL_MORE;
  for (int i = 0; i < windows; ++i) {
    CHECK(verdict == GL_MORE);
    CHECK(gl_trial_wants_new(&trial) == (i % 2 == 1));
    verdict = gl_trial_add(&trial, progress[i], gain);
  }
  return verdict;
}

static void trials(void) {
  // A wins by 30 %: refused after its first window.
  CHECK(after(3, (double[]){10, 7, 10}, 0.05) == GL_WORSE);
  CHECK(after(7, (double[]){10, 12, 10, 12, 10, 12, 10}, 0.05) == GL_BETTER);
  // A steady rise is not a gain of the new setting.
  CHECK(after(5, (double[]){10, 11, 12, 13, 14}, 0.05) == GL_WORSE);
  // 2 % is none either, where 5 % are asked for.
  CHECK(after(7, (double[]){100, 102, 100, 102, 100, 102, 100}, 0.05) ==
        GL_WORSE);
  // Lost once of four, but far beyond chance.
  CHECK(after(9, (double[]){10, 15, 10, 9.9, 10, 15, 10, 15, 10}, 0.05) ==
        GL_BETTER);
  // 12 % in the mean, but lost twice of six: chance does that.
  CHECK(after(13, (double[]){10, 15, 10, 8, 10, 15, 10, 8, 10, 14, 10, 9, 10},
              0.05) == GL_WORSE);
  // Nothing is known without progress.
  CHECK(after(1, (double[]){0}, 0.05) == GL_WORSE);
  CHECK(after(1, (double[]){-1}, 0.05) == GL_WORSE);
  CHECK(after(1, (double[]){NAN}, 0.05) == GL_WORSE);
}

// A fall of user time forbids retention only if it is more than chance.
static void losses(void) {
  struct gl_trial trial = {0};
  const double noisy[] = {3, 1, 2, 3, 3, 1, 3},
               steady[] = {9, 6, 9, 6, 9, 6, 9};
  for (int i = 0; i < 7; ++i)
    gl_trial_add(&trial, noisy[i], 0);
  CHECK(gl_trial_gain(&trial) < -0.2 && !gl_trial_is_loss(&trial, 0.05));
  trial = (struct gl_trial){0};
  for (int i = 0; i < 7; ++i)
    gl_trial_add(&trial, steady[i], 0);
  CHECK(gl_trial_is_loss(&trial, 0.05) && !gl_trial_is_loss(&trial, 0.5));
}

// The host takes two thirds of the time. Fewer CPUs are tried, whether or not
// threads' CPU time contains what was stolen.
static void stolen(void) {
  struct gl_settings only = on;
  only.may_retain = false;
  for (int contains = 0; contains < 2; ++contains) {
    struct gl_state state;
    gl_policy_start(&state, 4);
    struct gl_decision d = {.cpus = 4};
    for (int i = 0; i < 40 && d.cpus == 4; ++i) {
      struct gl_sample s = window();
      s.idle_s = s.active_idle_s = 0.002;
      s.idle_periods = s.active_periods = 4;
      s.steal_s = 4 * s.seconds * 0.66;
      s.work_s = 4 * s.seconds * (contains ? 0.98 : 0.32);
      d = gl_policy_step(&only, &state, &s);
    }
    CHECK(d.cpus == 2);
  }
  // Threads that never wait gain nothing from fewer CPUs, unless their own metric says so.
  for (int measures = 0; measures < 2; ++measures) {
    only.has_metric = measures;
    struct gl_state state;
    gl_policy_start(&state, 4);
    struct gl_decision d = {.cpus = 4};
    for (int i = 0; i < 40 && d.cpus == 4; ++i) {
      struct gl_sample s = window();
      s.idle_s = s.active_idle_s = 0;
      s.idle_periods = s.active_periods = 0;
      s.steal_s = 4 * s.seconds * 0.5;
      s.work_s = 4 * s.seconds * 0.98;
      s.progress = 1000 * s.seconds;
      d = gl_policy_step(&only, &state, &s);
    }
    CHECK(d.cpus == (measures ? 2 : 4));
  }
  only.has_metric = false;
  // CPUs that are idle lose nothing to others.
  struct gl_state state;
  gl_policy_start(&state, 4);
  for (int i = 0; i < 40; ++i) {
    struct gl_sample s = window();
    s.steal_s = 4 * s.seconds * 0.2;
    s.work_s = 4 * s.seconds * 0.1;
    s.idle_periods = 1;
    CHECK(gl_policy_step(&only, &state, &s).cpus == 4);
  }
}

static void folds(void) {
  struct gl_settings only = on;
  only.may_retain = false;
  struct gl_state state;
  gl_policy_start(&state, 4);
  struct gl_decision d = until(&state, &only, GL_KEEP_FOLD, 1.3, 1);
  CHECK(d.cpus == 2);
  // Rising load: all at once.
  double calm[GL_URGENT_SLOTS] = {2, 3, 2}, rising[GL_URGENT_SLOTS] = {3, 3, 3};
  CHECK(!gl_policy_is_urgent(&state, calm) &&
        gl_policy_is_urgent(&state, rising));
  CHECK(gl_policy_restore(&state, GL_RISING).cpus == 4);
  CHECK(state.wait_s[GL_FOLD] > 1);
  CHECK(!gl_policy_is_urgent(&state, rising)); // none are missing
  // A trial of retention that ran on the two ends: its windows had other CPUs.
  gl_policy_start(&state, 4);
  until(&state, &only, GL_KEEP_FOLD, 1.3, 1);
  state.act = GL_RETAIN;
  gl_policy_restore(&state, GL_RISING);
  CHECK(state.act == GL_NO_ACT);
  // The trap: an eighth of what two CPUs did is refused in one window.
  gl_policy_start(&state, 4);
  d = until(&state, &only, GL_LOSE_FOLD, 0.35, 1);
  CHECK(d.cpus == 4);
  // Own affinities: never.
  gl_policy_start(&state, 4);
  struct gl_sample s = window();
  s.pinned = true;
  for (int i = 0; i < 40; ++i)
    d = gl_policy_step(&only, &state, &s);
  CHECK(d.reason == GL_PINNED && d.cpus == 4);
  // Hotplug during a trial.
  gl_policy_start(&state, 4);
  until(&state, &only, GL_TRY_FOLD, 1.3, 1);
  s = window();
  s.cpus = 3;
  d = gl_policy_step(&only, &state, &s);
  CHECK(d.reason == GL_HOTPLUG && d.cpus == 3);
}

// A fold that an alarm ended is kept again without a trial if the load is as it
// was before the fold: after a window, after a second alarm after two. Not if
// there is more to do, nor once a trial is due anyway.
static void resumes(void) {
  struct gl_settings only = on;
  only.may_retain = false;
  for (int load = 0; load < 3; ++load) {
    struct gl_state state;
    gl_policy_start(&state, 4);
    until(&state, &only, GL_KEEP_FOLD, 1.3, 1);
    for (int alarm = 1; alarm <= 2; ++alarm) {
      gl_policy_restore(&state, alarm == 1 ? GL_RISING : GL_CHANGE);
      CHECK(gl_policy_needs_idle(&only, &state)); // to compare
      if (load == 2)
        state.verify_s[GL_FOLD] = 0;
      struct gl_sample s = window();
      if (load == 1)
        s.work_s *= 2.5;
      int windows = 0;
      while (gl_policy_step(&only, &state, &s).cpus == 4 && windows < 20)
        ++windows;
      CHECK(windows == (load > 0 ? 20 : alarm)); // the first one settles
      CHECK(state.failed == 0);
      if (load > 0)
        break;
      // The alarm was false, so a similar one is none.
      double same[GL_URGENT_SLOTS] = {3, 3, 3};
      CHECK(state.kept == 2 && !gl_policy_is_urgent(&state, same));
    }
  }
}

// A fold is tried only if it fits for a while, and if it changes anything.
static void fits(void) {
  struct gl_settings only = on;
  only.may_retain = false;
  struct gl_state state;
  gl_policy_start(&state, 4);
  struct gl_sample s = window(), busy = window();
  busy.work_s = 3.9 * GL_WINDOW_S;
  busy.idle_s = busy.active_idle_s = 0.1 * GL_WINDOW_S;
  for (int i = 0; i < 100; ++i)
    CHECK(gl_policy_step(&only, &state, i % 3 ? &s : &busy).cpus == 4);
  CHECK(state.act == GL_NO_ACT);
  // Already on one CPU.
  gl_policy_start(&state, 4);
  s.active = 1;
  for (int i = 0; i < 100; ++i)
    gl_policy_step(&only, &state, &s);
  CHECK(state.act == GL_NO_ACT);
  s.active = 2;
  gl_policy_step(&only, &state, &s);
  CHECK(state.act == GL_NO_ACT);
  gl_policy_step(&only, &state, &s);
  CHECK(gl_policy_step(&only, &state, &s).reason == GL_TRY_FOLD);
  // With steal as the cause rising load wants no CPUs back, so none looks.
  state.act = GL_NO_ACT;
  state.kept = 2;
  CHECK(gl_policy_may_be_urgent(&state));
  state.cause = GL_STEAL;
  CHECK(!gl_policy_may_be_urgent(&state));
}

// Ticks are few where little is done in user mode: windows are longer, and one
// without a tick is no loss.
static void few_ticks(void) {
  struct gl_settings only = on;
  only.may_retain = false;
  struct gl_state state;
  gl_policy_start(&state, 4);
  struct gl_decision d = {.cpus = 4};
  for (int i = 0; i < 200 && d.reason != GL_KEEP_FOLD; ++i) {
    struct gl_sample s = window();
    s.kept = d.cpus;
    s.seconds = d.window_s > 0 ? d.window_s : GL_WINDOW_S;
    s.user_s = d.cpus < 4 ? 6 * GL_TICK_S : i % 8 < 4 ? GL_TICK_S : 0;
    d = gl_policy_step(&only, &state, &s);
    CHECK(d.reason != GL_LOSE_FOLD);
    if (d.reason == GL_TRY_FOLD)
      CHECK(d.window_s <= GL_MOST_WINDOW_S &&
            (d.window_s > 2 * GL_WINDOW_S || d.window_s == GL_SETTLE_S));
  }
  CHECK(d.reason == GL_KEEP_FOLD);
  CHECK(state.verify_s[GL_FOLD] > 8); // as the trial was long
}

// After a failure the next trial comes later and later.
static void backs_off(void) {
  struct gl_settings only = on;
  only.may_retain = false;
  struct gl_state state;
  gl_policy_start(&state, 4);
  double gaps[3];
  for (int i = 0; i < 3; ++i) {
    until(&state, &only, GL_LOSE_FOLD, 0.5, 1);
    state.factors = (struct gl_factors){0.9, 0.9};
    gaps[i] = state.wait_s[GL_FOLD];
    state.wait_s[GL_FOLD] = 0;
  }
  CHECK(gaps[1] == 4 * gaps[0] && gaps[2] == 4 * gaps[1]);
}

// A trial that rising load broke off is repeated sooner than one that was lost,
// and if it had gained till then, no later than the last time.
static void broken_off(void) {
  struct gl_settings only = on;
  only.may_retain = false;
  for (int gained = 0; gained < 2; ++gained) {
    struct gl_state state;
    gl_policy_start(&state, 4);
    double gaps[3];
    for (int i = 0; i < 3; ++i) {
      until(&state, &only, GL_TRY_FOLD, 1.3, 1);
      struct gl_decision d = {.cpus = 4, .window_s = GL_WINDOW_S};
      for (int n = 0; n < (gained ? 8 : 3); ++n) {
        struct gl_sample s = window();
        s.kept = d.cpus;
        s.user_s *= d.cpus < 4 ? 1.3 : 1;
        d = gl_policy_step(&only, &state, &s);
      }
      CHECK(state.act == GL_FOLD);
      gl_policy_restore(&state, GL_RISING);
      CHECK(state.act == GL_NO_ACT);
      gaps[i] = state.wait_s[GL_FOLD];
      state.factors = (struct gl_factors){0.9, 0.9};
      state.wait_s[GL_FOLD] = state.failed = 0;
    }
    double growth = gained ? 1 : 2;
    CHECK(about(gaps[1], growth * gaps[0]) && about(gaps[2], growth * gaps[1]));
  }
}

// Idle periods are counted only where something may be tried or is kept; a
// window without them changes nothing.
static void counts(void) {
  struct gl_state state;
  gl_policy_start(&state, 4);
  CHECK(!gl_policy_needs_idle(&on, &state));
  struct gl_sample s = window();
  s.uncounted = true;
  struct gl_decision d = {0};
  int n = 0;
  for (; !gl_policy_needs_idle(&on, &state); ++n)
    d = gl_policy_step(&on, &state, &s);
  CHECK(n > 8 && n < 11 && d.reason == GL_WAITING); // half a second
  // What was not counted is no reason to try anything, nor a long window.
  d = gl_policy_step(&on, &state, &s);
  CHECK(d.reason == GL_WAITING && gl_policy_needs_idle(&on, &state));
  s = window();
  CHECK(gl_policy_step(&on, &state, &s).reason == GL_TRY_RETENTION);
  CHECK(gl_policy_needs_idle(&on, &state));
  // After both trials were lost it is not counted; while a fold is kept it is.
  gl_policy_start(&state, 4);
  state.wait_s[GL_RETAIN] = 2;
  CHECK(gl_policy_needs_idle(&on, &state) == (state.wait_s[GL_FOLD] <= 0.05));
  state.kept = 2;
  CHECK(gl_policy_needs_idle(&on, &state));
}

// The supervisor gives the daemon up after looks in a row without a beat.
static void beats(void) {
  struct gl_watch watch = {0};
  // It does not beat while the workload has all CPUs; then it confines it just
  // before a look, and there was no time for a beat.
  for (int i = 0; i < 20; ++i)
    CHECK(!gl_watch_is_lost(&watch, false, 7));
  CHECK(!gl_watch_is_lost(&watch, true, 7));
  CHECK(!gl_watch_is_lost(&watch, true, 8));
  for (int i = 1; i < GL_MOST_MISSED; ++i)
    CHECK(!gl_watch_is_lost(&watch, true, 8));
  CHECK(gl_watch_is_lost(&watch, true, 8));
  // One beat, or the end of the fold, and all is well.
  CHECK(!gl_watch_is_lost(&watch, true, 9));
  CHECK(!gl_watch_is_lost(&watch, true, 9));
  CHECK(!gl_watch_is_lost(&watch, false, 9));
  for (int i = 1; i < GL_MOST_MISSED; ++i)
    CHECK(!gl_watch_is_lost(&watch, true, 9));
}

int main(void) {
  figure_4a();
  figure_4b();
  margin();
  adjusts();
  changes();
  trials();
  losses();
  folds();
  resumes();
  fits();
  stolen();
  backs_off();
  broken_off();
  few_ticks();
  counts();
  beats();
  for (enum gl_reason r = GL_STEADY; r <= GL_RESUME; ++r)
    CHECK(strlen(gl_reason_text(r)) > 0);
  return 0;
}
