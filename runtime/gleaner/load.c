/*===- gleaner/load.c - What a workload does with its CPUs ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/load.h"

static double least(double a, double b) { return a < b ? a : b; }

/* A window without a single switch or idle period counts as one with one:
 * lengths are then at least that of the window. */
static double per(double seconds, double events) {
  return seconds / (events > 1 ? events : 1);
}

struct gl_load gl_load_of(const struct gl_sample *sample) {
  double time = sample->seconds * sample->kept;
  double idle_s = sample->idle_s > 0 ? least(sample->idle_s, time) : 0;
  double active = sample->seconds * (sample->active ? sample->active : 1);
  double stolen_s = sample->steal_s > 0 ? sample->steal_s : 0;
  struct gl_load load = {
      .n = sample->kept,
      .l_comp = per(sample->work_s, sample->idle_periods),
      .g_comp = per(sample->work_s, sample->switches),
      .l_idle = per(idle_s, sample->idle_periods),
      .used = sample->work_s / sample->seconds,
      .per_cpu = least((sample->work_s + stolen_s) / time, 1),
      .idle = least(sample->active_idle_s, active) / active,
      .idles = sample->active_periods / active,
      .gap = per(sample->active_idle_s, sample->active_periods),
  };
  return load;
}

unsigned gl_conditions(const struct gl_load *load,
                       const struct gl_factors *factors, double margin) {
  double others = load->n - 1;
  bool fits = load->l_comp <= factors->rho * others * load->l_idle ||
              (margin > 0 && load->used <= factors->rho * others + margin);
  bool fine =
      load->g_comp <= least(factors->eta * load->l_idle, GL_MIN_TIME_SLICE_S);
  return (fits && load->n > 1 ? 0 : GL_FULL) | (fine ? 0 : GL_COARSE);
}

/* Less than what just failed, so that the same load is not tried again. */
static double reduced(double factor, double failed) {
  return 0.9 * least(factor, failed);
}

void gl_adjust(struct gl_factors *factors, const struct gl_load *load,
               bool overloaded) {
  /* Without idle time there is nothing to divide by; the factor itself counts.
   */
  double idle = load->l_idle > 0 ? load->l_idle : 1e-9;
  if (overloaded)
    factors->eta = reduced(factors->eta, load->g_comp / idle);
  else if (load->n > 1)
    factors->rho = reduced(factors->rho, load->l_comp / ((load->n - 1) * idle));
}

bool gl_changed(const struct gl_load *was, const struct gl_load *is) {
  double use = is->per_cpu - was->per_cpu;
  return use > 0.2 || use < -0.2 || is->g_comp > 2 * was->g_comp ||
         is->g_comp < was->g_comp / 2;
}
