//===- Induction.h - How a variable changes per iteration -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_INDUCTION_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_INDUCTION_H

#include "checkers/common/Counting.h"
#include "checkers/heap-churn/FunctionView.h"

namespace vfriendly::tidy {

/// Returns 1 if Loop only adds to Variable, -1 if Loop only subtracts from
/// Variable, 0 if Loop does not change Variable, and nullopt otherwise.
std::optional<int> stepOf(const clang::VarDecl &Variable,
                          const clang::Stmt *Loop, const FunctionView &View);

/// Returns 1 if the value of E increases with the variable v, as `v + 1` and `8
/// * v` do, -1 if it decreases, as `n - v` does, 0 if E does not name the
/// variable, and nullopt otherwise.
std::optional<int> signIn(const clang::Expr *E, const clang::VarDecl &Variable,
                          const clang::ASTContext &Context);

/// Returns 1 if the value of Index increases from iteration to iteration, -1 if
/// it decreases, 0 if it stays the same, and nullopt otherwise.
std::optional<int> directionOf(const clang::Expr *Index,
                               const clang::Stmt *Loop,
                               const FunctionView &View);

/// Returns true if E names only variables that the loop does not change, and
/// calls nothing.
bool isInvariant(const clang::Expr *E, const clang::Stmt *Loop,
                 const FunctionView &View);

/// Adds the variables that S names to Found.
void variablesOf(const clang::Stmt *S,
                 llvm::SmallPtrSetImpl<const clang::VarDecl *> &Found);

/// A loop `for (T i = Begin; i COMPARED Bound; ++i)`, or downwards, whose
/// counter is not used outside.
struct Counted {
  const clang::VarDecl *Counter = nullptr;
  const clang::Expr *Begin = nullptr;
  const clang::BinaryOperator *Condition = nullptr;
  const clang::UnaryOperator *Step = nullptr;
};

std::optional<Counted> countedBy(const clang::Stmt *Loop,
                                 const FunctionView &View);

} // namespace vfriendly::tidy

#endif
