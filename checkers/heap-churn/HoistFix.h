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
#include "checkers/heap-churn/IterationLocals.h"
#include "checkers/heap-churn/IterationPairs.h"

namespace vfriendly::tidy {

/// `if (!p) p = malloc(n);` in the loop and `free(p);` behind it: the first
/// iteration allocates, so a loop without iterations does not, and what the
/// program does about a failure stays as it is.
FixHints hoistBuffer(const IterationPair &Pair, FunctionView &View);

/// Declares a vector or string before the loop and clears it in each iteration.
FixHints hoistLocal(const IterationLocal &Local, FunctionView &View);

} // namespace vfriendly::tidy

#endif
