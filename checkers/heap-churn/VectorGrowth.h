//===- VectorGrowth.h - Vectors that grow to a known size -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_VECTORGROWTH_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_VECTORGROWTH_H

#include "checkers/heap-churn/Fixes.h"

namespace vfriendly::tidy {

/// An empty std::vector to which a loop adds one element per iteration; the
/// number of iterations is known before the loop.
struct GrownVector {
  const clang::VarDecl *Variable = nullptr;
  const clang::Stmt *Loop = nullptr;
  const clang::Expr *Push = nullptr;
};

/// Finds the loop that adds the elements of Variable. Ignores loops that do
/// nothing else, which clang-tidy's own check
/// performance-inefficient-vector-operation reports.
std::optional<GrownVector> findGrownVector(const clang::VarDecl &Variable,
                                           FunctionView &View);

/// Inserts `v.reserve(n);` before the loop, if n can be named there and is not
/// negative.
FixHints reserveBefore(const GrownVector &Grown, FunctionView &View);

} // namespace vfriendly::tidy

#endif
