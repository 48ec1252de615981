//===- ParallelLoops.h - Code that a team of threads executes ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_PARALLELLOOPS_H
#define VFRIENDLY_CHECKERS_COMMON_PARALLELLOOPS_H

#include "checkers/common/Loops.h"

#include "clang/AST/Expr.h"

namespace vfriendly::tidy {

/// Returns true for an algorithm of the standard library with a parallel
/// policy.
bool hasParallelPolicy(const clang::CallExpr &Call);

/// Returns true for tbb::parallel_for and its like, and for algorithms with a
/// parallel policy.
bool isParallelAlgorithm(const clang::CallExpr &Call);

/// Returns true for a `for` loop whose condition compares with a constant below
/// 64. What happens once in each iteration of such a loop does not show in a
/// profile: starting a thread costs as much as hundreds of moves of a cache
/// line.
bool hasFewIterations(const clang::Stmt *Loop,
                      const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
