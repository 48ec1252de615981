//===- HoistFix.h - Takes an allocation out of a loop -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Report << hoistBuffer(Pair, View);
//
// Planned only where the program means the same afterwards; no hints otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HOISTFIX_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HOISTFIX_H

#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/RoundLocals.h"
#include "checkers/heap-churn/RoundPairs.h"

namespace vfriendly::tidy {

/// `if (!p) p = malloc(n);` in the loop and `free(p);` behind it: the first
/// round allocates, so a loop without rounds does not, and what the program
/// does about a failure stays as it is.
FixHints hoistBuffer(const RoundPair &Pair, FunctionView &View);

/// Declares a vector or string before the loop and clears it in each round.
FixHints hoistLocal(const RoundLocal &Local, FunctionView &View);

} // namespace vfriendly::tidy

#endif
