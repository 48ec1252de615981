//===- LoopFixes.h - Fix-its for loops over heap memory ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Report << reverseLoop(Release, View);
//
// Each function returns no hints unless the change preserves the program's
// behaviour.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_LOOPFIXES_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_LOOPFIXES_H

#include "checkers/heap-churn/ElementCalls.h"
#include "checkers/heap-churn/HeapCheck.h"

namespace vfriendly::tidy {

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
