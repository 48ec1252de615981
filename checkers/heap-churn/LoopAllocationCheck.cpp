//===- LoopAllocationCheck.cpp - vfriendly-heap-churn-loop-allocation -----===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/LoopAllocationCheck.h"

#include "checkers/heap-churn/Cold.h"
#include "checkers/heap-churn/HoistFix.h"
#include "checkers/heap-churn/IterationLocals.h"
#include "checkers/heap-churn/IterationPairs.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if the loop retries with a larger size: `n *= 2`. Such a loop
/// seldom iterates.
static bool triesWithMore(const HeapCall &Call, const Stmt *Loop,
                          const FunctionView &View) {
  for (const Expr *Size : {Call.Size, Call.Count})
    if (const VarDecl *Variable = variableOf(Size))
      if (std::optional<StmtSet> Writes = View.writesOf(*Variable))
        for (const Stmt *Write : *Writes) {
          auto *Assign = dyn_cast<BinaryOperator>(Write);
          if (Assign && View.isWithin(Assign, Loop) &&
              (Assign->getOpcode() == BO_MulAssign ||
               Assign->getOpcode() == BO_ShlAssign ||
               Assign->getOpcode() == BO_AddAssign))
            return true;
        }
  return false;
}

void LoopAllocationCheck::inspect(FunctionView &View) {
  if (View.loops().empty())
    return;
  for (const HeapCall &Call : View.calls()) {
    if (Call.Op != HeapOp::Allocate)
      continue;
    std::optional<IterationPair> Pair = findPair(Call, View);
    if (!Pair || isCold(Pair->Loop, View) || isRetry(Pair->Loop, View) ||
        triesWithMore(Call, Pair->Loop, View) ||
        !claim(Call.Site->getExprLoc(), View))
      continue;
    report(Call.Site->getExprLoc(),
           "'" + Pair->Owner->getName() + "' is allocated by '" + Call.name() +
               "' and released again in each iteration of a loop",
           "allocate before the loop and use the memory again")
        << hoistBuffer(*Pair, View);
    diag(Pair->Releases.front()->Site->getExprLoc(), "released here",
         DiagnosticIDs::Note);
  }
  if (!View.Context.getLangOpts().CPlusPlus)
    return;
  for (const VarDecl *Variable : View.locals()) {
    std::optional<IterationLocal> Local = findIterationLocal(*Variable, View);
    if (!Local || isCold(Local->Loop, View) || isRetry(Local->Loop, View) ||
        !claim(Variable->getLocation(), View))
      continue;
    bool Pointer = Local->Kind.ends_with("_ptr");
    report(
        Variable->getLocation(),
        "'" + Variable->getName() +
            "' allocates memory and releases it "
            "again in each iteration of a loop",
        Pointer
            ? "keep the object from iteration to iteration, or without the heap"
            : "declare it before the loop and clear it in each iteration")
        << hoistLocal(*Local, View);
    diag(Local->Allocates->getExprLoc(), "allocates here", DiagnosticIDs::Note);
  }
}

} // namespace vfriendly::tidy
