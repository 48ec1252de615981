//===- IterationLocals.h - Locals allocated per iteration -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_ITERATIONLOCALS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_ITERATIONLOCALS_H

#include "checkers/heap-churn/Containers.h"
#include "checkers/heap-churn/FunctionView.h"

namespace vfriendly::tidy {

/// A local of a standard library type that allocates in each iteration of a
/// loop and is destroyed at the end of the iteration, and whose memory is not
/// moved elsewhere.
struct IterationLocal {
  const clang::VarDecl *Variable = nullptr;
  const clang::Stmt *Loop = nullptr; ///< Null for a local of each call.
  llvm::StringRef Kind; ///< vector, basic_string, map, unique_ptr, ...
  const clang::Expr *Allocates = nullptr; ///< The expression that allocates.
  /// True if Variable is a copy that nothing changes.
  bool IsReadOnlyCopy = false;
  /// True if a function returns the container that Variable then is.
  bool IsReturned = false;
};

/// Returns the local that Variable is. If OfCall, returns instead one that the
/// function itself allocates and destroys, outside of its loops.
std::optional<IterationLocal> findIterationLocal(const clang::VarDecl &Variable,
                                                 FunctionView &View,
                                                 bool OfCall = false);

} // namespace vfriendly::tidy

#endif
