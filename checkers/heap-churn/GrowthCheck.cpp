//===- GrowthCheck.cpp - vfriendly-heap-churn-growth ----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Checks.h"

#include "checkers/heap-churn/Cold.h"
#include "checkers/heap-churn/ElementCalls.h"
#include "checkers/heap-churn/Fixes.h"
#include "checkers/heap-churn/Induction.h"
#include "checkers/heap-churn/VectorGrowth.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if E contains a multiplication or shift, by which E may grow by
/// more than a constant in each iteration.
static bool multiplies(const Expr *E, const ASTContext &Context) {
  E = E->IgnoreParenCasts();
  auto *Binary = dyn_cast<BinaryOperator>(E);
  if (!Binary)
    return false;
  if (Binary->getOpcode() == BO_Shl)
    return true;
  if (Binary->getOpcode() == BO_Mul)
    for (const Expr *Side : {Binary->getLHS(), Binary->getRHS()})
      if (isa<IntegerLiteral>(Side->IgnoreParenCasts()))
        return true; // `2 * n`, but not `n * sizeof *p`.
  return multiplies(Binary->getLHS(), Context) ||
         multiplies(Binary->getRHS(), Context);
}

static void addendsOf(const Expr *E, SmallVectorImpl<const Expr *> &Found) {
  E = E->IgnoreParenCasts();
  auto *Sum = dyn_cast<BinaryOperator>(E);
  if (!Sum || Sum->getOpcode() != BO_Add) {
    Found.push_back(E);
    return;
  }
  addendsOf(Sum->getLHS(), Found);
  addendsOf(Sum->getRHS(), Found);
}

/// Returns a variable that Loop increases or decreases so that the size of Call
/// grows; null if there is no such variable, or if the size may also shrink.
static const VarDecl *growsBy(const HeapCall &Call, const Stmt *Loop,
                              const FunctionView &View) {
  const VarDecl *Found = nullptr;
  SmallVector<const Expr *, 4> Addends;
  for (const Expr *Size : {Call.Size, Call.Count})
    if (Size)
      addendsOf(Size, Addends);
  for (const Expr *Addend : Addends) {
    // In `length + strlen(piece)` only length is examined, because the sum
    // grows with length whatever strlen returns.
    if (isa<CallExpr>(Addend))
      continue;
    llvm::SmallPtrSet<const VarDecl *, 4> Variables;
    variablesOf(Addend, Variables);
    for (const VarDecl *Variable : Variables) {
      std::optional<int> Step = stepOf(*Variable, Loop, View),
                         Sign = signIn(Addend, *Variable, View.Context);
      if (!Step || !Sign || *Step * *Sign < 0)
        return nullptr;
      if (*Step && *Sign)
        Found = Variable;
    }
  }
  return Found;
}

void GrowthCheck::inspect(FunctionView &View) {
  if (View.loops().empty())
    return;
  for (const HeapCall &Call : View.calls()) {
    const Stmt *Loop = View.loopAround(*Call.Site);
    if (!Loop || Call.Op != HeapOp::Resize)
      continue;
    // Ignores sizes such as `2 * n`: each iteration may then double the size.
    if ((Call.Size && multiplies(Call.Size, View.Context)) ||
        (Call.Count && multiplies(Call.Count, View.Context)))
      continue;
    const VarDecl *By = growsBy(Call, Loop, View);
    if (!By || isCold(Loop, View) || !View.isRepeated(Call.Site) ||
        !claim(Call.Site->getExprLoc(), View))
      continue;
    report(Call.Site->getExprLoc(),
           "'" + Call.name() + "' in a loop grows a block by additions to '" +
               By->getName() + "'",
           "grow it by a factor")
        << growByFactor(Call, *By, View);
  }
  for (const ElementCall &Allocation : allocationsOfElements(View)) {
    const VarDecl *By = growsBy(*Allocation.Call, Allocation.Loop, View);
    if (!By || isCold(Allocation.Loop, View) ||
        directionOf(Allocation.Index, Allocation.Loop, View).value_or(0) == 0 ||
        !claim(Allocation.Call->Site->getExprLoc(), View))
      continue;
    report(Allocation.Call->Site->getExprLoc(),
           "blocks grow with '" + By->getName() +
               "', so none fits where an earlier one was",
           "allocate one block for all");
  }
  if (!View.Context.getLangOpts().CPlusPlus)
    return;
  for (const VarDecl *Variable : View.locals()) {
    std::optional<GrownVector> Grown = findGrownVector(*Variable, View);
    if (!Grown || isCold(Grown->Loop, View) ||
        !claim(Grown->Push->getExprLoc(), View))
      continue;
    report(Grown->Push->getExprLoc(),
           "'" + Variable->getName() +
               "' grows step by step in a loop of known length",
           "reserve what all iterations need")
        << reserveBefore(*Grown, View);
  }
}

} // namespace vfriendly::tidy
