//===- HoistFix.h - Takes an allocation out of a loop -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Report << hoistBuffer(Allocation, View);
//
// Each function returns no hints unless the change preserves the program's
// behaviour.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HOISTFIX_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HOISTFIX_H

#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/IterationLocals.h"

namespace vfriendly::tidy {

/// Inserts `if (!p)` before `p = malloc(n);` in the loop, and moves `free(p);`
/// after the loop. The first iteration allocates, so a loop without iterations
/// allocates nothing, and error handling stays unchanged.
///
/// pre: in each iteration every path releases the block.
FixHints hoistBuffer(const HeapCall &Allocation, FunctionView &View);

/// Declares a vector or string before the loop and clears it in each iteration.
FixHints hoistLocal(const IterationLocal &Local, FunctionView &View);

} // namespace vfriendly::tidy

#endif
