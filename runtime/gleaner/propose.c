/*===- gleaner/propose.c - What may be worth a trial ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/propose.h"

/* Waiting for a CPU that computes nothing else costs nobody anything but
 * energy. It may take so many times as long as the wake-up that it saves:
 * beyond that the gain is below GAIN_RETAIN. If the host has others to run, ski
 * rental says once: twice the optimum at most. */
#define PATIENCE 30
/* Idle periods matter if wake-ups take so much of the time. Above the number
 * per second and CPU they are tried in any case, which is 1 % at 20 µs each. */
#define LEAST_COST 0.01
#define ENOUGH_IDLES 500
/* Below this share of idle time retention has nothing to keep: its thread would
 * only add switches. */
#define LEAST_IDLE 0.05
/* Number of idle periods per second below which no thread waits for another, so
 * that fewer CPUs gain nothing though the host takes some. A program whose
 * threads share a lock has tens to hundreds, one that computes has none. User
 * time, by which a trial is judged without a metric, would not tell: its ticks
 * are not exact on a CPU that the host takes away. */
#define LEAST_WAITS 10
/* Work and retention together may use this share of a CPU limit. */
#define LIMIT_SHARE 0.8

static double least(double a, double b) { return a < b ? a : b; }

/*===- Retention -------------------------------------------------------===*/

double gl_stolen_share(const struct gl_sample *sample) {
  return sample->steal_s / (sample->seconds * sample->kept);
}

double gl_longest_wait(const struct gl_settings *settings,
                       const struct gl_sample *sample) {
  return settings->wake_cost_s *
         (gl_stolen_share(sample) > GL_STEAL_SHARE ? 1 : PATIENCE);
}

static double least_idles(const struct gl_settings *settings) {
  return least(ENOUGH_IDLES, LEAST_COST / settings->wake_cost_s);
}

enum gl_reason gl_propose_retention(const struct gl_settings *settings,
                                    const struct gl_sample *sample,
                                    const struct gl_load *load) {
  if (sample->limit > 0 &&
      load->used + load->idle * sample->active > LIMIT_SHARE * sample->limit)
    return GL_LIMITED;
  if (load->idle < LEAST_IDLE)
    return GL_BUSY;
  if (load->idles < least_idles(settings))
    return GL_QUIET;
  if (load->gap > gl_longest_wait(settings, sample))
    return GL_LONG_WAITS;
  return GL_STEADY;
}

/*===- Folding ---------------------------------------------------------===*/

static unsigned propose_fold(const struct gl_settings *settings,
                             const struct gl_state *state,
                             const struct gl_sample *sample,
                             const struct gl_load *load, enum gl_cause *cause,
                             enum gl_reason *reason) {
  unsigned n = state->kept;
  *reason = GL_PINNED;
  if (sample->pinned)
    return n;
  *reason = GL_BUSY;
  if (n < 2)
    return n;
  if (sample->limit > 0 && sample->limit <= n - 1 &&
      sample->throttled_s > GL_CROWDED_SHARE * sample->seconds) {
    *cause = GL_CPU_LIMIT;
    return sample->limit > 1 ? (unsigned)(sample->limit + 0.99) : 1;
  }
  *cause = GL_IDLENESS;
  bool quiet = sample->idle_periods < least_idles(settings) * sample->seconds;
  unsigned failed = gl_conditions(load, &state->factors, GL_MARGIN);
  if (quiet || failed) {
    *reason = quiet ? GL_QUIET : failed & GL_COARSE ? GL_LONG_WORK : GL_BUSY;
    /* A thread's CPU time contains stolen time only without
     * CONFIG_PARAVIRT_TIME_ACCOUNTING: with it, CPUs of which the host takes
     * half are never used for more than the other half. */
    bool waits = settings->has_metric ||
                 sample->idle_periods >= LEAST_WAITS * sample->seconds;
    if (gl_stolen_share(sample) > GL_CROWDED_SHARE && load->per_cpu > 0.5 &&
        waits) {
      *cause = GL_STEAL;
      unsigned rest = (unsigned)(n * (1 - gl_stolen_share(sample)) + 0.99);
      return rest < 1 ? 1 : rest < n ? rest : n - 1;
    }
    return n;
  }
  /* The paper goes down one by one, as it cannot go back at once. A trial can,
   * and where threads wait for each other in turn only few CPUs are better. */
  unsigned fewer = n - 1;
  while (fewer > 1 &&
         load->used <= state->factors.rho * (fewer - 1) + GL_MARGIN)
    --fewer;
  /* Linux has put all threads on one CPU already: nothing is gained, and after
   * the trial it would leave them there for longer than it else does. */
  if (sample->active == 1) {
    *reason = GL_STEADY;
    return n;
  }
  unsigned half = (state->failed + n) / 2;
  return state->failed && fewer < half ? half : fewer;
}

unsigned gl_propose_fold(const struct gl_settings *settings,
                         const struct gl_state *state,
                         const struct gl_sample *sample,
                         const struct gl_load *load, enum gl_cause *cause,
                         enum gl_reason *reason) {
  unsigned fewer = propose_fold(settings, state, sample, load, cause, reason);
  /* A pair that hands over sooner uses more of two CPUs, in as long pieces as
   * before and with shorter pauses. It would still be better on one: a trial
   * compares that with retention. */
  if (fewer < state->kept || !state->retain || state->kept < state->cpus ||
      (*reason != GL_BUSY && *reason != GL_LONG_WORK))
    return fewer;
  return propose_fold(settings, state, sample, &state->unretained, cause,
                      reason);
}
