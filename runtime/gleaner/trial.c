/*===- gleaner/trial.c - Comparison of two settings by turns --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/trial.h"
#include <math.h>

static unsigned pairs(const struct gl_trial *trial) {
  return trial->windows > 0 ? (trial->windows - 1) / 2 : 0;
}

static double mean(const struct gl_trial *trial) {
  return pairs(trial) > 0 ? trial->sum / pairs(trial) : 0;
}

/* Returns the standard error of the mean. pre: at least two comparisons. */
static double error(const struct gl_trial *trial) {
  double n = pairs(trial);
  double variance = (trial->squares - trial->sum * trial->sum / n) / (n - 1);
  return variance > 0 ? sqrt(variance / n) : 0;
}

enum gl_verdict gl_trial_add(struct gl_trial *trial, double progress,
                             double gain) {
  if (!(progress > 0))
    return GL_WORSE;
  trial->windows++;
  if (trial->windows < 3 || trial->windows % 2 == 0) {
    if (trial->windows > 1)
      trial->between = progress;
    else
      trial->before = progress;
    return GL_MORE;
  }
  double won = log(2 * trial->between / (trial->before + progress));
  trial->before = progress;
  trial->sum += won;
  trial->squares += won * won;
  if (pairs(trial) == 1)
    return won <= GL_CLEARLY_WORSE ? GL_WORSE : GL_MORE;
  if (trial->sum <= 0)
    return GL_WORSE;
  if (pairs(trial) >= GL_LEAST_PAIRS) {
    if (mean(trial) >= GL_ERRORS * error(trial) && gl_trial_gain(trial) >= gain)
      return GL_BETTER;
    if (gl_trial_gain(trial) < gain / 2)
      return GL_WORSE;
  }
  return pairs(trial) < GL_MOST_PAIRS ? GL_MORE : GL_WORSE;
}

double gl_trial_gain(const struct gl_trial *trial) {
  return expm1(mean(trial));
}

bool gl_trial_is_loss(const struct gl_trial *trial, double loss) {
  return pairs(trial) >= 2 &&
         expm1(mean(trial) + GL_ERRORS * error(trial)) < -loss;
}
