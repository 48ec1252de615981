//===- IterationHints.h - Hints that every iteration gives ------*- C++ -*-===//
//-*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   IterationHints Given = hintsOfIterations(Shape, Facts);
//   if (Given.Any) ... whoever wrote this loop meant it to wait
//
// A loop that pauses on some paths may have any purpose. One that pauses before
// each repetition was written as a wait, even if it also logs or keeps
// statistics.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_ITERATIONHINTS_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_ITERATIONHINTS_H

#include "checkers/spin-loops/LoopFacts.h"

namespace vfriendly::tidy {

/// The hints on every path to another iteration.
struct IterationHints {
  bool Any = false;    ///< A pause, a yield, a sleep, or a wait.
  bool Pauses = false; ///< Without sleeps, which those give who poll devices.
  bool Waits = false;  ///< An inner loop, in the loop itself, that waits.
};

/// pre: collectFacts returned true for both.
IterationHints hintsOfIterations(const LoopShape &Shape,
                                 const LoopFacts &Facts);

} // namespace vfriendly::tidy

#endif
