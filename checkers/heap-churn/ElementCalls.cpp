//===- ElementCalls.cpp - Allocation and release of elements --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/ElementCalls.h"

#include "checkers/common/Places.h"
#include "checkers/heap-churn/Induction.h"

using namespace clang;

namespace vfriendly::tidy {

static std::optional<ElementCall>
elementOf(const HeapCall &Call, const Expr *LValue, const FunctionView &View) {
  const Expr *E = LValue->IgnoreParenCasts();
  ElementCall Found;
  Found.Call = &Call;
  const Expr *Base = nullptr;
  if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E)) {
    Base = Subscript->getBase();
    Found.Index = Subscript->getIdx();
  } else if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(E);
             Operator && Operator->getOperator() == OO_Subscript &&
             Operator->getNumArgs() == 2) {
    Base = Operator->getArg(0);
    Found.Index = Operator->getArg(1);
  } else {
    return std::nullopt;
  }
  Found.Array = namedBy(Base->IgnoreParenCasts());
  Found.Loop = View.loopAround(*Call.Site);
  if (!Found.Array || !Found.Loop)
    return std::nullopt;
  return Found;
}

SmallVector<ElementCall, 4> allocationsOfElements(FunctionView &View) {
  SmallVector<ElementCall, 4> Found;
  for (const HeapCall &Call : View.calls()) {
    if (Call.Op != HeapOp::Allocate)
      continue;
    const Stmt *P = View.parent(Call.Site);
    while (P && isa<ParenExpr, CastExpr>(P))
      P = View.parent(P);
    auto *Assign = dyn_cast_or_null<BinaryOperator>(P);
    if (!Assign || Assign->getOpcode() != BO_Assign)
      continue;
    if (auto Element = elementOf(Call, Assign->getLHS(), View))
      Found.push_back(*Element);
  }
  return Found;
}

SmallVector<ElementCall, 4> releasesOfElements(FunctionView &View) {
  SmallVector<ElementCall, 4> Found;
  for (const HeapCall &Call : View.calls())
    if (Call.Op == HeapOp::Release)
      if (auto Element = elementOf(Call, Call.Pointer, View))
        Found.push_back(*Element);
  return Found;
}

bool unwinds(const ElementCall &Allocation, const ElementCall &Release,
             const FunctionView &View) {
  llvm::SmallPtrSet<const VarDecl *, 4> Counters, Down;
  variablesOf(Allocation.Index, Counters);
  variablesOf(Release.Index, Down);
  auto *For = dyn_cast<ForStmt>(Release.Loop);
  const Stmt *Begin = For ? For->getInit() : nullptr;
  llvm::SmallPtrSet<const VarDecl *, 4> Started;
  if (Begin)
    variablesOf(Begin, Started);
  for (const VarDecl *Counter : Counters) {
    if (stepOf(*Counter, Allocation.Loop, View) != std::optional(1))
      continue;
    // The loop counts down from the index of the allocation that failed: `for
    // (j = i - 1; ...)`.
    if (Started.contains(Counter) && !Down.contains(Counter))
      return true;
    if (!Down.contains(Counter))
      continue;
    // The loop of releases uses the counter of the allocations. The counter
    // keeps its value unless the loop assigns it a new start.
    auto *Assign = dyn_cast_or_null<BinaryOperator>(Begin);
    if (!Assign || Assign->getOpcode() != BO_Assign ||
        variableOf(Assign->getLHS()) != Counter)
      return true;
    llvm::SmallPtrSet<const VarDecl *, 4> From;
    variablesOf(Assign->getRHS(), From);
    if (From.contains(Counter))
      return true;
  }
  return false;
}

} // namespace vfriendly::tidy
