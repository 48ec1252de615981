//===- ParallelFix.h - Makes a serial fill parallel -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_PARALLELFIX_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_PARALLELFIX_H

#include "checkers/numa-placement/BulkAccess.h"

#include "clang/Basic/Diagnostic.h"
#include <string>

namespace vfriendly::tidy {

struct ParallelFix {
  llvm::SmallVector<clang::FixItHint, 1> Hints;
  /// The reason why there are no Hints.
  std::string Reason;
};

/// Inserts `#pragma omp parallel for schedule(static)` before the loop of Fill,
/// if the loop of Use has the same bounds and a static schedule, so that each
/// thread writes the pages that it uses later.
///
/// The iterations are independent:
///
///   for (long i = 0; i < n; i++)   the counter is the loop's own, and nothing
///     x[i] = c * y[i];             but the loop changes it
///
/// - Each statement assigns to an element x[i], or in inner loops x[i][j], of a
///   built-in type. x is a variable of array type, or a pointer whose only
///   values are new blocks of the heap: two of these never overlap.
/// - The values have no calls and no side effects. They read only scalars,
///   which no iteration writes; elements of written arrays at [i]; and elements
///   of other arrays, none of which overlaps with a written one.
/// - Nothing is volatile, atomic, thread-local or threadprivate.
///
/// So each iteration reads and writes what it does in the serial loop,
/// whichever thread executes it, and computes the same values.
ParallelFix parallelFix(const BulkEvent &Fill, const BulkEvent &Use,
                        const UnitValues &Values,
                        const clang::ASTContext &Context);

/// Returns true if E allocates a block from the heap.
bool isNewBlock(const clang::Expr *E);

/// Returns true if E is a new block, or what a function returns that is named
/// as an allocator, such as a wrapper of malloc. A name proves nothing: the
/// result may only lead to reports.
bool isAllocation(const clang::Expr *E);

} // namespace vfriendly::tidy

#endif
