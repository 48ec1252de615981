//===- LoopFixes.h - Loops that do the same with less -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Report << reverseLoop(Release, View);
//
// Each is planned only where the program means the same afterwards; no hints
// otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_LOOPFIXES_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_LOOPFIXES_H

#include "checkers/heap-churn/ElementCalls.h"
#include "checkers/heap-churn/HeapCheck.h"

namespace vfriendly::tidy {

/// Makes a loop that does nothing but release elements go up.
FixHints reverseLoop(const ElementCall &Release, FunctionView &View);

/// One madvise or munmap over all of the range in place of a loop of them.
FixHints oneCall(const clang::CallExpr &Call, FunctionView &View);

/// The release before the loop that does not use the memory.
/// pre: the last release of Block, behind Phase, of memory nobody else knows.
FixHints releaseEarlier(const HeapCall &Release, const clang::Stmt &Phase,
                        const clang::CompoundStmt &Block, FunctionView &View);

/// `capacity += capacity / 2 + 16` for `capacity += 16`.
FixHints growByFactor(const HeapCall &Resize, const clang::VarDecl &Capacity,
                      FunctionView &View);

} // namespace vfriendly::tidy

#endif
