/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What scenarios.c and hooks.cpp know of each other.
 */

#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct scenario {
  const char *name;
  int threads; /* 2 to 4 */
  /* Of what orders.py leaves out or weakens, the rarest took 297 runs. */
  unsigned long runs;
  void (*before)(void);
  void (*thread)(int number);
  void (*after)(void); /* may be null */
};

extern const struct scenario scenarios[];
extern const unsigned n_scenarios;

/* One of 0..n-1, as the search likes. */
unsigned model_choose(unsigned n);

/* Ends the search with an error unless it holds. */
void model_check(bool holds, const char *what);
#define CHECK(condition) model_check(condition, #condition)

#ifdef __cplusplus
}
#endif

#endif
