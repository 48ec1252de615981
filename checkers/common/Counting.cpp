//===- Counting.cpp - How loops count, and how often they iterate --------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/Counting.h"

#include "checkers/common/Loops.h"
#include "checkers/common/SyncModel.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Expr.h"
#include "clang/AST/Stmt.h"

#include <cstdlib>

using namespace clang;

namespace vfriendly::tidy {

std::optional<int64_t> constantOf(const Expr *E, const ASTContext &Context) {
  Expr::EvalResult Result;
  if (!E || E->isValueDependent() || !E->EvaluateAsInt(Result, Context))
    return std::nullopt;
  return Result.Val.getInt().tryExtValue();
}

std::optional<int64_t> smallConstant(const Expr *E, const ASTContext &Context) {
  std::optional<int64_t> Value = constantOf(E, Context);
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

std::optional<int64_t> iterationsOf(const Stmt *Loop,
                                    const ASTContext &Context) {
  const BinaryOperator *Condition = comparisonOf(Loop);
  if (!Condition || !Condition->isComparisonOp())
    return std::nullopt;
  auto *For = cast<ForStmt>(Loop);
  std::optional<int64_t> Bound = smallConstant(Condition->getRHS(), Context);
  const ValueDecl *Counter = objectOf(Condition->getLHS());
  std::optional<CountStart> First = startOf(For->getInit(), Context);
  std::optional<int64_t> Start;
  if (First && First->Counter == Counter)
    Start = First->Value;
  int64_t Step = Counter ? stepOf(For->getInc(), Counter, Context) : 0;
  if (!Bound || (Step < 0 && !Start))
    return std::nullopt;
  int64_t Distance = std::abs(*Bound - Start.value_or(0));
  bool IncludesBound =
      Condition->getOpcode() == BO_LE || Condition->getOpcode() == BO_GE;
  int64_t By = Step ? std::abs(Step) : 1;
  return (Distance + By - 1) / By + IncludesBound;
}

const VarDecl *uncastVariable(const Expr *E) {
  return dyn_cast_or_null<VarDecl>(counterOf(E));
}

} // namespace vfriendly::tidy
