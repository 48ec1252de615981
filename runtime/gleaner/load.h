/*===- gleaner/load.h - What a workload does with its CPUs ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The measures of Gleaner (Ding et al., ATC'14, section 5) and its conditions
 * for using fewer CPUs:
 *
 *   struct gl_load load = gl_load_of(&sample);
 *   if (!gl_conditions(&load, &factors, 0))
 *     ... the workload may fit on load.n - 1 CPUs ...
 *
 * All functions only compute, so that they can be tested without a workload.
 * Names of the daemon begin with gl_; it exports nothing.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_LOAD_H
#define VFRIENDLY_GLEANER_LOAD_H

#include <stdbool.h>

/* What was counted in a window of time. Times are in seconds, summed over CPUs
 * or threads; a negative number is unknown. "Kept" CPUs are those to which the
 * workload is confined. */
struct gl_sample {
  double seconds;      /* length of the window */
  unsigned cpus;       /* CPUs that the workload may use */
  unsigned kept;       /* of these, those kept in this window */
  double work_s;       /* CPU time of the workload */
  double user_s;       /* of that, in user mode */
  double switches;     /* context switches of the workload */
  double idle_s;       /* time that kept CPUs were idle */
  double idle_periods; /* number of idle periods of kept CPUs */
  unsigned active;     /* kept CPUs that were not idle all the time */
  double active_idle_s, active_periods; /* the same of active CPUs only */
  double busiest;     /* utilisation of the busiest kept CPU, 0 to 1 */
  double runnable;    /* most threads that ran or wanted to, in the mean of
                         GL_URGENT_SLOTS observations; -1 if unknown */
  double steal_s;     /* time that the host took from kept CPUs */
  double throttled_s; /* time that a CPU limit stopped the workload */
  double limit;       /* CPU limit, in CPUs; 0 for none */
  double progress;    /* by the workload's own metric */
  double moved;       /* bytes that it read and wrote; 0 if unknown */
  double calls;       /* system calls by which it did */
  bool pinned;        /* a thread has an affinity of its own */
  bool uncounted;     /* idle times and periods are not known */
};

struct gl_load {
  unsigned n;     /* kept CPUs */
  double l_comp;  /* mean computation of a CPU between two idle periods */
  double g_comp;  /* mean computation of a thread between two switches */
  double l_idle;  /* mean idle period */
  double used;    /* CPUs that the workload used, in CPUs */
  double per_cpu; /* mean share of a kept CPU that is used or stolen, 0 to 1:
                     what the host takes changes from window to window */
  double idle;    /* share of time that active CPUs were idle, 0 to 1 */
  double idles;   /* idle periods per second and active CPU */
  double gap;     /* mean idle period of active CPUs */
};

/* Tunable between 0 and 1; both are reduced after a failure. */
struct gl_factors {
  double rho; /* load factor */
  double eta; /* granularity factor */
};

/* At most this much of a CPU of work may lack room by condition 1. The paper's
 * form refuses its best case at two CPUs: each thread of a serial pair uses
 * half of its CPU and a little more, for the switch. */
#define GL_MARGIN 0.25

/* Longer computations gain nothing by avoiding idle periods and lose cache
 * contents. The paper's min_time_slice, "a few milliseconds"; Linux' own base
 * slice is 2.8 ms. */
#define GL_MIN_TIME_SLICE_S 0.003

enum { GL_FULL = 1, GL_COARSE = 2 };

/* pre: sample->seconds and sample->kept are positive. */
struct gl_load gl_load_of(const struct gl_sample *sample);

/* Returns 0 if the workload may fit on one CPU less, else GL_FULL if the other
 * CPUs lack idle time for it (condition 1: l_comp <= rho (N - 1) l_idle),
 * GL_COARSE if its computations are too long to fit into idle periods
 * (condition 2: g_comp <= min(eta l_idle, min_time_slice)), or both. Condition
 * 1 also holds if at most `margin` of a CPU lacks room: see GL_MARGIN; with 0
 * it is the paper's. */
unsigned gl_conditions(const struct gl_load *load,
                       const struct gl_factors *factors, double margin);

/* Reduces the factor that let a consolidation through that failed: eta if it
 * overloaded a CPU, else rho. load is that before the consolidation. */
void gl_adjust(struct gl_factors *factors, const struct gl_load *load,
               bool overloaded);

/* Returns true if the load differs so much from what it was that CPUs must be
 * chosen anew: utilisation by more than 20 % of a CPU, or g_comp to more than
 * the double or less than half. The paper's third sign, utilisation above 90 %,
 * would undo each right consolidation of a serial pair at the next window;
 * gl_policy_is_urgent replaces it. */
bool gl_changed(const struct gl_load *was, const struct gl_load *is);

#endif /* VFRIENDLY_GLEANER_LOAD_H */
