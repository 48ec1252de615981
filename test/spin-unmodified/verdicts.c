// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 64 loops that wait and 24 that compute, as two compilers compile them: a
// thread that is interrupted in a wait is seen to wait, and one that computes
// never is. Two samples of a wait may miss it: where the signal came before it
// began, or the kernel changed the clock's data just then.
//
// TIMED: 10 samples of each loop, 8 of which wait
// REQUIRES: host-x86_64, native, capstone
// RUN: bash %S/Inputs/verdicts.sh %vf_src %t %vf_platform

#include "Inputs/loops.h"
#include "Inputs/samples.h"

int main(int argc, char **argv) {
  unsigned wrong = 0;
  if (start_samples())
    return 2;
  for (unsigned i = 0; i != LOOPS; ++i) {
    if (argc > 2 && strcmp(argv[2], loops[i].name) != 0)
      continue;
    unsigned right = count(loops[i].run, loops[i].expected);
    unsigned missed = *loops[i].expected == '-' ? 0 : 2;
    if (seen->samples == SAMPLES && right + missed >= SAMPLES)
      continue;
    ++wrong;
    printf("%s: %s: %u of %u right; computes %u polls %u counts %u times %u "
           "delays %u; %s\n",
           argc > 1 ? argv[1] : "", loops[i].name, right, seen->samples,
           seen->of[0], seen->of[1], seen->of[2], seen->of[3], seen->of[4],
           seen->why);
  }
  return wrong != 0;
}
