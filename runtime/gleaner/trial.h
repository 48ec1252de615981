/*===- gleaner/trial.h - Comparison of two settings by turns --------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   struct gl_trial trial = {0};
 *   do                      // A B A B A ...: old setting, new one, old one
 *     run a window with the new setting if gl_trial_wants_new(&trial);
 *   while ((verdict = gl_trial_add(&trial, progress, 0.05)) == GL_MORE);
 *
 * A window with the new setting is compared with the mean of the two windows
 * around it, so that a steady trend of the workload cancels out.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_TRIAL_H
#define VFRIENDLY_GLEANER_TRIAL_H

#include <stdbool.h>

/* Zero-initialized before its first use. */
struct gl_trial {
  unsigned windows;
  double before, between; /* progress of the last two windows */
  double sum, squares;    /* of ln(new / old) over all comparisons */
};

enum gl_verdict { GL_MORE, GL_BETTER, GL_WORSE };

/* A single comparison may end a trial only if the new setting was worse by so
 * much (ln): the longer a bad setting is kept, the more it costs. */
#define GL_CLEARLY_WORSE (-0.1)

/* A gain counts if it is so many times its standard error. With 3 to 6
 * comparisons chance alone gets there in 6 to 3 cases of a hundred, and the
 * mean must exceed the gain besides. */
#define GL_ERRORS 2.5
#define GL_LEAST_PAIRS 3
#define GL_MOST_PAIRS 6

/* Returns true if the next window should have the new setting. */
static inline bool gl_trial_wants_new(const struct gl_trial *trial) {
  return trial->windows % 2 == 1;
}

/* Adds the progress per second of the window that ended. Returns GL_BETTER if
 * the mean gain is at least `gain` (0.05: 5 %) and beyond chance, GL_WORSE if
 * the old setting must stay, also if there was no progress to compare, else
 * GL_MORE. Takes at most 2 GL_MOST_PAIRS + 1 windows. */
enum gl_verdict gl_trial_add(struct gl_trial *trial, double progress,
                             double gain);

/* Returns the mean gain so far: 0.05 for 5 %. */
double gl_trial_gain(const struct gl_trial *trial);

/* Returns true if the new setting is worse by more than `loss` (0.05: 5 %),
 * beyond chance; false if there are too few comparisons to tell. */
bool gl_trial_is_loss(const struct gl_trial *trial, double loss);

#endif /* VFRIENDLY_GLEANER_TRIAL_H */
