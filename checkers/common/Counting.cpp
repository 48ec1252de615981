//===- Counting.cpp - Start and step of a loop's counter ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/Counting.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Expr.h"

using namespace clang;

namespace vfriendly::tidy {

std::optional<int64_t> smallConstant(const Expr *E, const ASTContext &Context) {
  Expr::EvalResult Result;
  if (!E || E->isValueDependent() || !E->EvaluateAsInt(Result, Context))
    return std::nullopt;
  std::optional<int64_t> Value = Result.Val.getInt().tryExtValue();
  if (!Value || *Value > UINT32_MAX || *Value < INT32_MIN)
    return std::nullopt;
  return Value;
}

const ValueDecl *counterOf(const Expr *E) {
  E = E->IgnoreParenImpCasts();
  if (auto *Ref = dyn_cast<DeclRefExpr>(E))
    return Ref->getDecl();
  auto *Member = dyn_cast<MemberExpr>(E);
  return Member ? Member->getMemberDecl() : nullptr;
}

std::optional<CountStart> startOf(const Stmt *Init, const ASTContext &Context) {
  const ValueDecl *Counter = nullptr;
  const Expr *Value = nullptr;
  if (auto *Decls = dyn_cast_or_null<DeclStmt>(Init)) {
    auto *Variable = Decls->isSingleDecl()
                         ? dyn_cast<VarDecl>(Decls->getSingleDecl())
                         : nullptr;
    Counter = Variable;
    Value = Variable ? Variable->getInit() : nullptr;
  } else if (auto *Assign = dyn_cast_or_null<BinaryOperator>(Init);
             Assign && Assign->getOpcode() == BO_Assign) {
    Counter = counterOf(Assign->getLHS());
    Value = Assign->getRHS();
  }
  std::optional<int64_t> From = smallConstant(Value, Context);
  return Counter && From ? std::optional<CountStart>({Counter, *From})
                         : std::nullopt;
}

int64_t stepOf(const Expr *Increment, const ValueDecl *Counter,
               const ASTContext &Context) {
  if (!Increment)
    return 0;
  Increment = Increment->IgnoreParens();
  if (auto *Op = dyn_cast<UnaryOperator>(Increment))
    return counterOf(Op->getSubExpr()) != Counter ? 0
           : Op->isIncrementOp()                  ? 1
           : Op->isDecrementOp()                  ? -1
                                                  : 0;
  auto *Op = dyn_cast<CompoundAssignOperator>(Increment);
  if (!Op || counterOf(Op->getLHS()) != Counter)
    return 0;
  int64_t By = smallConstant(Op->getRHS(), Context).value_or(0);
  return Op->getOpcode() == BO_AddAssign   ? By
         : Op->getOpcode() == BO_SubAssign ? -By
                                           : 0;
}

} // namespace vfriendly::tidy
