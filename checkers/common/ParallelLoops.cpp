//===- ParallelLoops.cpp - Code that a team of threads executes -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/ParallelLoops.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"

using namespace clang;

namespace vfriendly::tidy {

bool hasParallelPolicy(const CallExpr &Call) {
  const CXXRecordDecl *Class =
      Call.getNumArgs() ? Call.getArg(0)->getType()->getAsCXXRecordDecl()
                        : nullptr;
  return Class && Class->getIdentifier() &&
         llvm::is_contained({"parallel_policy", "parallel_unsequenced_policy"},
                            Class->getName());
}

bool isParallelAlgorithm(const CallExpr &Call) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!Callee || !Callee->getIdentifier())
    return false;
  return llvm::is_contained(
             {"parallel_for", "parallel_reduce", "parallel_for_each"},
             Callee->getName()) ||
         hasParallelPolicy(Call);
}

bool hasFewIterations(const Stmt *Loop, const ASTContext &Context) {
  constexpr int64_t Few = 64;
  auto *For = dyn_cast<ForStmt>(Loop);
  auto *Condition =
      For ? dyn_cast_or_null<BinaryOperator>(For->getCond()) : nullptr;
  Expr::EvalResult Bound;
  return Condition && Condition->isRelationalOp() &&
         !Condition->getRHS()->isValueDependent() &&
         Condition->getRHS()->EvaluateAsInt(Bound, Context) &&
         Bound.Val.getInt() < Few;
}

} // namespace vfriendly::tidy
