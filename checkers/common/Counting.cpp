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

CountBegin beginOf(const Stmt *Init) {
  if (auto *Decls = dyn_cast_or_null<DeclStmt>(Init)) {
    auto *Variable = Decls->isSingleDecl()
                         ? dyn_cast<VarDecl>(Decls->getSingleDecl())
                         : nullptr;
    return {Variable, Variable ? Variable->getInit() : nullptr};
  }
  auto *Assign = dyn_cast_or_null<BinaryOperator>(Init);
  if (!Assign || Assign->getOpcode() != BO_Assign)
    return {};
  return {counterOf(Assign->getLHS()), Assign->getRHS()};
}

std::optional<CountStart> startOf(const Stmt *Init, const ASTContext &Context) {
  CountBegin Begin = beginOf(Init);
  std::optional<int64_t> From = smallConstant(Begin.Value, Context);
  return Begin.Counter && From
             ? std::optional<CountStart>({Begin.Counter, *From})
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
  if (auto *Do = dyn_cast<DoStmt>(Loop))
    return constantOf(Do->getCond(), Context) == 0 ? std::optional<int64_t>(1)
                                                   : std::nullopt;
  const BinaryOperator *Condition = comparisonOf(Loop);
  // Of `A && B`, one comparison suffices to bound the iterations: the other one
  // can only end the loop earlier.
  while (Condition && Condition->getOpcode() == BO_LAnd) {
    auto Operand = [](const Expr *E) {
      return dyn_cast<BinaryOperator>(E->IgnoreParens());
    };
    const BinaryOperator *Left = Operand(Condition->getLHS());
    Condition = Left && constantOf(Left->getRHS(), Context)
                    ? Left
                    : Operand(Condition->getRHS());
  }
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

bool hasFewIterations(const Stmt *Loop, const ASTContext &Context) {
  return iterationsOf(Loop, Context).value_or(INT64_MAX) < 64;
}

const VarDecl *uncastVariable(const Expr *E) {
  return dyn_cast_or_null<VarDecl>(counterOf(E));
}

} // namespace vfriendly::tidy
