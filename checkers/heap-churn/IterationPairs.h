//===- IterationPairs.h - Memory that lives for one iteration ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (std::optional<IterationPair> Pair = findPair(Allocation, View))
//     ... Pair->Releases, each reached from there in every iteration
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_ITERATIONPAIRS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_ITERATIONPAIRS_H

#include "checkers/heap-churn/FunctionView.h"

namespace vfriendly::tidy {

/// A block that a loop allocates, and that is released on every path before the
/// loop allocates it again, on paths out of the function too.
struct IterationPair {
  const HeapCall *Allocation = nullptr;
  const clang::VarDecl *Owner = nullptr;
  const clang::Stmt *Loop = nullptr;
  llvm::SmallVector<const HeapCall *, 2> Releases;
  /// The only release of the block, if no other heap call uses Owner; else
  /// null.
  const HeapCall *OnlyRelease = nullptr;
  /// True if nothing but the allocation writes Owner.
  bool IsOnlyWrite = false;
};

std::optional<IterationPair> findPair(const HeapCall &Allocation,
                                      FunctionView &View);

/// Returns true if S can run again after it has run, without leaving the
/// function.
bool isRepeated(const clang::Stmt *S, FunctionView &View);

} // namespace vfriendly::tidy

#endif
