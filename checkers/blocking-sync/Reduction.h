//===- Reduction.h - Updates that a reduction can replace -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_REDUCTION_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_REDUCTION_H

#include "clang/AST/Expr.h"
#include "clang/AST/StmtOpenMP.h"
#include "clang/Basic/Diagnostic.h"
#include <optional>
#include <string>

namespace vfriendly::tidy {

/// A statement that combines a value with a result, in any order of the values:
/// `s += x`, `s = s + x`, `s++`, `if (x > m) m = x`, `m = std::max(m, x)`.
struct Reduction {
  const clang::Expr *Target;
  /// OpenMP's operator: + * & | ^ && || min max. Of `s -= x` it is +.
  llvm::StringRef Operator;
};

std::optional<Reduction> reductionOf(const clang::Stmt *S,
                                     const clang::ASTContext &Context);

/// Returns the array if Target is an element of an array variable that is small
/// enough for a copy in each thread; else null. All threads write its few cache
/// lines, whichever elements they update.
const clang::DeclRefExpr *smallArrayOf(const clang::Expr *Target,
                                       const clang::ASTContext &Context);

/// Returns the statements of an `omp critical` or `omp atomic`.
llvm::SmallVector<const clang::Stmt *, 4>
guardedBy(const clang::OMPExecutableDirective &Guard);

/// A critical section or atomic operation in a parallel loop.
struct ParallelUpdate {
  const clang::FunctionDecl *Function;
  /// The directive whose threads execute Update once for each iteration.
  const clang::OMPExecutableDirective *Loop;
  /// The `omp critical` or `omp atomic`.
  const clang::OMPExecutableDirective *Update;
  /// The parallel region of the only team that executes Loop, which may be Loop
  /// itself; null if it is not visible.
  const clang::OMPExecutableDirective *Region;
};

struct ReductionFix {
  llvm::SmallVector<clang::FixItHint, 4> Hints;
  /// The critical sections and atomic operations that Hints remove: all that
  /// update the same results in this loop.
  llvm::SmallVector<const clang::OMPExecutableDirective *, 2> Removed;
  /// The reason why there are no Hints.
  llvm::StringRef Reason;
};

/// Adds a reduction clause to the loop's directive, and removes the critical
/// section or atomic operation.
///
///   #pragma omp parallel for                      ... for reduction(+: sum)
///   for (i = 0; i < n; i++)
///     #pragma omp critical
///     sum += x[i];
///
/// - Each result is a local variable or parameter of an arithmetic type, no
///   reference. Nothing takes its address, so that only this loop's team can
///   reach it meanwhile.
/// - In the loop only updates with the same operator name it, all of them in
///   critical sections or atomic operations, which are removed.
/// - No clause of the loop names it. The rest of the parallel region does not
///   use it, as threads may be there while others finish the loop.
/// - One team of threads executes the loop: several would combine their results
///   with the same variable at the same time.
///
/// Each thread then starts with the operator's neutral element, and OpenMP
/// combines the threads' results and the original value at the loop's end.
/// Floating-point results are rounded in another order; the order was undefined
/// before.
ReductionFix reductionFix(const ParallelUpdate &Site,
                          const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
