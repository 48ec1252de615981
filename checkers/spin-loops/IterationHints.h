//===- IterationHints.h - Spin hints of every iteration ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   IterationHints Given = hintsOfIterations(Shape, Facts);
//   if (Given.Any) ... the author intended this loop as a wait
//
// A loop that pauses only on some paths may have any purpose. A loop that
// pauses on every path to its next iteration is intended as a wait, even if it
// also writes logs or keeps statistics.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_ITERATIONHINTS_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_ITERATIONHINTS_H

#include "checkers/spin-loops/LoopFacts.h"

namespace vfriendly::tidy {

/// What the loop executes on every path to the next iteration: spin hints, and
/// read-modify-writes that can succeed without another thread.
struct IterationHints {
  bool Any = false;     ///< A pause, a yield, a sleep, or a wait.
  bool Pauses = false;  ///< Excludes sleeps: loops that poll devices sleep.
  bool Waits = false;   ///< An inner loop of the same function that waits.
  bool Retries = false; ///< One of the read-modify-writes in AtOnce.
};

/// Returns the spin hints that every iteration gives, and whether every
/// iteration executes one of AtOnce, the read-modify-writes that can succeed
/// without another thread. pre: collectFacts returned true for Shape and Facts.
IterationHints hintsOfIterations(const LoopShape &Shape, const LoopFacts &Facts,
                                 llvm::ArrayRef<const Rmw *> AtOnce = {});

} // namespace vfriendly::tidy

#endif
