//===- Fixes.h - Fixes of loops that allocate and release -------*- C++ -*-===//
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

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_FIXES_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_FIXES_H

#include "checkers/heap-churn/ElementCalls.h"
#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/IterationLocals.h"

namespace vfriendly::tidy {

// HoistFix.cpp

/// Inserts `if (!p)` before `p = malloc(n);` in the loop, and moves `free(p);`
/// after the loop. The first iteration allocates, so a loop without iterations
/// allocates nothing, and error handling stays unchanged.
///
/// pre: in each iteration every path releases the block.
FixHints hoistBuffer(const HeapCall &Allocation, FunctionView &View);

/// Declares a vector or string before the loop and clears it in each iteration.
FixHints hoistLocal(const IterationLocal &Local, FunctionView &View);

// LoopFixes.cpp

/// Reverses a loop that only releases elements, so that its index goes up.
FixHints reverseLoop(const ElementCall &Release, FunctionView &View);

/// Replaces a loop of madvise or munmap calls by one call for the whole range.
FixHints oneCall(const clang::CallExpr &Call, FunctionView &View);

/// Moves Release before Phase, a loop that does not use the released memory.
/// pre: Release is the last release in Block and comes after Phase, and the
/// address of the released memory does not escape.
FixHints releaseEarlier(const HeapCall &Release, const clang::Stmt &Phase,
                        const clang::CompoundStmt &Block, FunctionView &View);

/// Replaces `capacity += 16` by `capacity += capacity / 2 + 16`.
FixHints growByFactor(const HeapCall &Resize, const clang::VarDecl &Capacity,
                      FunctionView &View);

} // namespace vfriendly::tidy

#endif
