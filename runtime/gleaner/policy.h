/*===- gleaner/policy.h - When to retain CPUs, when to use fewer ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The daemon `gleaner`: Keeps vCPUs awake through short waits, and uses only as
 * many of them as the work needs. This file decides:
 *
 *   gl_policy_start(&state, cpus);
 *   for (;;) {
 *     next = gl_policy_step(&settings, &state, &sample);
 *     confine the workload to next.cpus CPUs, retain them if next.retain;
 *     measure for next.window_s, in slots of GL_SLOT_S while fewer CPUs are
 *     kept: if gl_policy_is_urgent(...) end the window and gl_policy_restore;
 *   }
 *
 * Both changes are trials (trial.h) that only measured progress makes
 * permanent, and that are repeated from time to time:
 *
 * - Retention: a thread of the lowest priority keeps each CPU awake through
 *   short waits. Tried where idle periods are frequent and not much longer than
 *   what it costs to lose the CPU.
 * - Consolidation ("fold"): fewer CPUs, where the conditions of load.h hold, or
 *   where the host steals CPU time or a CPU limit throttles.
 *
 * Progress is the workload's own metric if there is one, else the bytes that it
 * reads and writes if it does so about as often as it is switched: they are its
 * work, or grow with it. Of the others it is user time for a fold: work on
 * fewer CPUs causes fewer switches, so neither CPU time nor switches tell. For
 * retention it is the number of switches. Both can mislead: a thread that spins
 * uses user time, and a server that is woken sooner finds fewer requests at a
 * time, so that each takes more switches. So retention is kept only if user
 * time rises, too, and nothing that makes a program read and write fewer bytes.
 *
 * The functions only compute: no clock, no system call.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_POLICY_H
#define VFRIENDLY_GLEANER_POLICY_H

#include "gleaner/load.h"
#include "gleaner/trial.h"

struct gl_settings {
  double wake_cost_s; /* added to a wake-up if the CPU was halted */
  bool may_retain, may_fold;
  bool has_metric; /* samples have progress */
};

/* Length of a window, and of the time after a change of CPUs that is not
 * measured, in which threads migrate and caches fill. */
#define GL_WINDOW_S 0.05
#define GL_SETTLE_S 0.01

/* User time is counted by ticks: at 250 Hz, the usual rate, of 4 ms. A trial
 * that compares it has windows of about six, within these limits: less would
 * be chance, more would keep a bad setting for too long. */
#define GL_TICK_S 0.004
#define GL_TICKS 6
#define GL_MOST_WINDOW_S 0.4

/* Rising load must have its CPUs back within 20 ms: three slots and the
 * change. One slot alone would take a single burst of wake-ups for load. */
#define GL_SLOT_S 0.004
#define GL_URGENT_SLOTS 3

enum gl_reason {
  GL_STEADY,        /* nothing to change */
  GL_QUIET,         /* idle periods are too few to matter */
  GL_LONG_WAITS,    /* idle periods are too long to retain CPUs */
  GL_BUSY,          /* no idle time worth retaining, no room for a fold */
  GL_LONG_WORK,     /* computations are too long for a fold */
  GL_PINNED,        /* the program has affinities of its own */
  GL_WAITING,       /* the start or a failed trial is not long ago */
  GL_TRY_RETENTION, /* a trial is running */
  GL_TRY_FOLD,
  GL_KEEP_RETENTION, /* the trial was won */
  GL_KEEP_FOLD,
  GL_LOSE_RETENTION, /* the trial was lost */
  GL_LOSE_FOLD,
  GL_IDLE_GONE, /* retention ended: idle periods vanished */
  GL_LIMITED,   /* retention ended: a CPU limit is near */
  GL_CHANGE,    /* fold ended: the load changed */
  GL_RISING,    /* fold ended: more threads want to run */
  GL_HOTPLUG,   /* the set of CPUs changed */
  GL_RESUME,    /* a fold that had ended by an alarm is kept again */
};

enum gl_act { GL_NO_ACT, GL_RETAIN, GL_FOLD };

/* Why fewer CPUs are proposed. */
enum gl_cause { GL_IDLENESS, GL_STEAL, GL_CPU_LIMIT };

struct gl_decision {
  unsigned cpus;    /* CPUs to keep */
  bool retain;      /* keep them awake, */
  double timeout_s; /* each for so long */
  double window_s;  /* length of the next window */
  enum gl_reason reason;
  double gain; /* of the trial that ended or runs; 0.05: 5 % */
};

/* Private to the policy. */
struct gl_state {
  unsigned cpus, kept;
  bool retain;
  double timeout_s;
  struct gl_factors factors;
  enum gl_act act; /* of the running trial */
  struct gl_trial trial, user, moved;
  double trial_s;   /* length of its windows, as asked for */
  double longest_s; /* of its windows, as measured */
  double user_rate; /* CPUs in user mode, smoothed; so are the next */
  double switch_rate, call_rate;
  bool counts_bytes;   /* the trial compares bytes */
  double rate, rate_s; /* of progress, by what a trial of retention compares;
                          smoothed over so many seconds at most */
  bool rate_of_bytes;
  double rate_before;      /* before the trial that won retention */
  double retained_s;       /* since then */
  bool rechecked;          /* since then, as it was less */
  bool settling;           /* the window that runs is not measured */
  unsigned base, proposed; /* CPUs of a trial's old and new setting */
  unsigned failed;         /* CPUs that were too few for this load; 0: none */
  unsigned fitting;        /* windows in a row in which fewer CPUs would do */
  double crowd;            /* least `runnable` of the windows that won */
  unsigned resumes;        /* CPUs of a fold that an alarm ended; 0: none */
  unsigned alarms;         /* since the fold was won */
  unsigned like_before;    /* windows in a row with the load before the fold */
  bool retained;           /* with all CPUs, before the fold */
  bool fold_retains;       /* the fold's CPUs are kept awake, too */
  enum gl_cause cause;
  struct gl_load before;     /* load before the trial, with all its CPUs */
  struct gl_load unretained; /* load in the last window of a trial of retention
                                in which CPUs were not kept awake */
  struct gl_load reference;  /* load after the fold was kept */
  bool has_reference, overloaded;
  /* By act: until a proposal may be tried, until what is kept is tried again;
   * and the next such times. */
  double wait_s[3], verify_s[3];
  double pause_s[3], hold_s[3];
};

void gl_policy_start(struct gl_state *state, unsigned cpus);

/* Takes what was counted in the window that the last decision asked for, and
 * returns what to do in the next. */
struct gl_decision gl_policy_step(const struct gl_settings *settings,
                                  struct gl_state *state,
                                  const struct gl_sample *sample);

/* Returns true if the next sample must have idle times and periods: false while
 * nothing is kept and nothing may be tried or kept again yet. Without them the
 * policy waits. */
bool gl_policy_needs_idle(const struct gl_settings *settings,
                          const struct gl_state *state);

/* Returns false if the workload gains nothing by having its CPUs back at once:
 * then gl_policy_is_urgent need not be asked. */
bool gl_policy_may_be_urgent(const struct gl_state *state);

/* Returns the mean of observations. */
static inline double gl_policy_mean(const double runnable[GL_URGENT_SLOTS]) {
  double sum = 0;
  for (int i = 0; i < GL_URGENT_SLOTS; ++i)
    sum += runnable[i];
  return sum / GL_URGENT_SLOTS;
}

/* Returns true if more threads want to run than did when the fold was won, or
 * than its CPUs can run, in the mean of GL_URGENT_SLOTS observations:
 * runnable[] counts threads that run or wait for a CPU. */
bool gl_policy_is_urgent(const struct gl_state *state,
                         const double runnable[GL_URGENT_SLOTS]);

/* Returns the decision to use all CPUs at once; a running trial of a fold is
 * lost. */
struct gl_decision gl_policy_restore(struct gl_state *state,
                                     enum gl_reason reason);

/* Returns a short English description: "idle periods are too few to matter". */
const char *gl_reason_text(enum gl_reason reason);

#endif /* VFRIENDLY_GLEANER_POLICY_H */
