//===- Induction.cpp - How a variable changes per iteration ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Induction.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace vfriendly::tidy {

static bool names(const Stmt *S, const VarDecl &Variable) {
  if (auto *Ref = dyn_cast<DeclRefExpr>(S))
    return Ref->getDecl() == &Variable;
  if (isa<UnaryExprOrTypeTraitExpr>(S))
    return false; // The operand of sizeof is not evaluated.
  for (const Stmt *Child : S->children())
    if (Child && names(Child, Variable))
      return true;
  return false;
}

std::optional<int> signIn(const Expr *E, const VarDecl &Variable,
                          const ASTContext &Context) {
  E = E->IgnoreParenCasts();
  if (variableOf(E) == &Variable)
    return 1;
  if (auto *Unary = dyn_cast<UnaryOperator>(E);
      Unary && Unary->isIncrementDecrementOp())
    return signIn(Unary->getSubExpr(), Variable, Context);
  auto *Binary = dyn_cast<BinaryOperator>(E);
  if (!Binary)
    return names(E, Variable) ? std::nullopt : std::optional<int>(0);
  std::optional<int> L = signIn(Binary->getLHS(), Variable, Context),
                     R = signIn(Binary->getRHS(), Variable, Context);
  if (!L || !R)
    return std::nullopt;
  switch (Binary->getOpcode()) {
  case BO_Sub:
    R = -*R;
    [[fallthrough]];
  case BO_Add:
    if (*L && *R && *L != *R)
      return std::nullopt;
    return *L ? *L : *R;
  case BO_Mul: {
    if (!*L && !*R)
      return 0;
    if (*L && *R)
      return std::nullopt;
    const Expr *Factor = *L ? Binary->getRHS() : Binary->getLHS();
    std::optional<int64_t> Known = constantOf(Factor, Context);
    // A factor without a known value is assumed to be positive, as sizes and
    // counts are.
    if (Known && *Known <= 0)
      return std::nullopt;
    return *L ? *L : *R;
  }
  case BO_Shl:
    return *R ? std::nullopt : L;
  default:
    return *L || *R ? std::nullopt : std::optional<int>(0);
  }
}

std::optional<int> stepOf(const VarDecl &Variable, const Stmt *Loop,
                          const FunctionView &View) {
  std::optional<StmtSet> Writes = View.writesOf(Variable);
  if (!Writes)
    return std::nullopt;
  int Step = 0;
  for (const Stmt *Write : *Writes) {
    if (!View.isWithin(Write, Loop))
      continue;
    if (auto *For = dyn_cast<ForStmt>(Loop);
        For && For->getInit() && View.isWithin(Write, For->getInit()))
      continue;
    int This = 0;
    if (auto *Unary = dyn_cast<UnaryOperator>(Write))
      This = Unary->isIncrementOp() ? 1 : -1;
    else if (auto *Assign = dyn_cast<BinaryOperator>(Write)) {
      const Expr *Value = Assign->getRHS();
      bool Known = constantOf(Value, View.Context).value_or(1) > 0;
      if (Assign->getOpcode() == BO_AddAssign && Known)
        This = 1;
      else if (Assign->getOpcode() == BO_SubAssign && Known)
        This = -1;
      else if (auto *Sum = dyn_cast<BinaryOperator>(Value->IgnoreParenCasts());
               Assign->getOpcode() == BO_Assign && Sum && Sum->isAdditiveOp() &&
               variableOf(Sum->getLHS()) == &Variable &&
               !names(Sum->getRHS(), Variable))
        This = Sum->getOpcode() == BO_Add ? 1 : -1;
      // `i += i` doubles, so the step is unknown.
      if (This && Assign->getOpcode() != BO_Assign && names(Value, Variable))
        This = 0;
    }
    if (!This || (Step && Step != This))
      return std::nullopt;
    Step = This;
  }
  return Step;
}

void variablesOf(const Stmt *S, llvm::SmallPtrSetImpl<const VarDecl *> &Found) {
  if (auto *Ref = dyn_cast<DeclRefExpr>(S))
    if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl()))
      Found.insert(Variable);
  if (isa<UnaryExprOrTypeTraitExpr>(S))
    return;
  for (const Stmt *Child : S->children())
    if (Child)
      variablesOf(Child, Found);
}

std::optional<int> directionOf(const Expr *Index, const Stmt *Loop,
                               const FunctionView &View) {
  llvm::SmallPtrSet<const VarDecl *, 4> Variables;
  variablesOf(Index, Variables);
  int Direction = 0;
  for (const VarDecl *Variable : Variables) {
    std::optional<int> Step = stepOf(*Variable, Loop, View),
                       Sign = signIn(Index, *Variable, View.Context);
    if (!Step || !Sign)
      return std::nullopt;
    int This = *Step * *Sign;
    if (This && Direction && This != Direction)
      return std::nullopt;
    Direction = This ? This : Direction;
  }
  return Direction;
}

bool isInvariant(const Expr *E, const Stmt *Loop, const FunctionView &View) {
  if (constantOf(E, View.Context))
    return true;
  E = E->IgnoreParenImpCasts();
  if (auto *Cast = dyn_cast<ExplicitCastExpr>(E))
    return isInvariant(Cast->getSubExpr(), Loop, View);
  if (const VarDecl *Variable = variableOf(E)) {
    if (!Variable->hasLocalStorage() ||
        Variable->getType().isVolatileQualified())
      return false;
    return stepOf(*Variable, Loop, View) == std::optional(0);
  }
  if (auto *Binary = dyn_cast<BinaryOperator>(E))
    return !Binary->isAssignmentOp() &&
           isInvariant(Binary->getLHS(), Loop, View) &&
           isInvariant(Binary->getRHS(), Loop, View);
  return false;
}

std::optional<Counted> countedBy(const Stmt *Loop, const FunctionView &View) {
  auto *For = dyn_cast<ForStmt>(Loop);
  if (!For || !For->getInit() || !For->getCond() || !For->getInc() ||
      For->getConditionVariable())
    return std::nullopt;
  CountBegin Begin = beginOf(For->getInit());
  Counted Found;
  Found.Counter = dyn_cast_or_null<VarDecl>(Begin.Counter);
  Found.Begin = Begin.Value;
  Found.Condition = dyn_cast<BinaryOperator>(For->getCond()->IgnoreParens());
  Found.Step = dyn_cast<UnaryOperator>(For->getInc()->IgnoreParens());
  if (!Found.Counter || !Found.Begin || !Found.Condition || !Found.Step ||
      !Found.Counter->hasLocalStorage() ||
      !Found.Counter->getType()->isIntegerType() ||
      variableOf(Found.Condition->getLHS()) != Found.Counter ||
      !Found.Step->isIncrementDecrementOp() ||
      variableOf(Found.Step->getSubExpr()) != Found.Counter)
    return std::nullopt;
  // The value of the counter after the loop must not be used.
  for (const DeclRefExpr *Ref : View.refs(*Found.Counter))
    if (!View.isWithin(Ref, Loop))
      return std::nullopt;
  std::optional<StmtSet> Writes = View.writesOf(*Found.Counter);
  if (!Writes)
    return std::nullopt;
  for (const Stmt *Write : *Writes)
    if (Write != Found.Step && !View.isWithin(Write, For->getInit()))
      return std::nullopt;
  return Found;
}

} // namespace vfriendly::tidy
