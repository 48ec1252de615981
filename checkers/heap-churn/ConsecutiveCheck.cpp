//===- ConsecutiveCheck.cpp - vfriendly-heap-churn-consecutive ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Checks.h"

#include "checkers/heap-churn/Cold.h"
#include "checkers/heap-churn/ElementCalls.h"
#include "checkers/heap-churn/Induction.h"

using namespace clang;

namespace vfriendly::tidy {

void ConsecutiveCheck::inspect(FunctionView &View) {
  if (View.loops().size() < 2)
    return;
  SmallVector<ElementCall, 4> Allocations = allocationsOfElements(View);
  if (Allocations.empty())
    return;
  for (const ElementCall &Allocation : Allocations) {
    // Accepts only an array that is a local variable, so that all its blocks
    // live no longer than the function.
    auto *Array = dyn_cast<VarDecl>(Allocation.Array);
    if (!Array || !Array->hasLocalStorage() || isa<ParmVarDecl>(Array) ||
        isCold(Allocation.Loop, View))
      continue;
    if (directionOf(Allocation.Index, Allocation.Loop, View).value_or(0) == 0)
      continue;
    const ElementCall *Released = nullptr;
    SmallVector<ElementCall, 4> Releases = releasesOfElements(View);
    for (const ElementCall &Release : Releases)
      if (Release.Array == Array && Release.Loop != Allocation.Loop &&
          !unwinds(Allocation, Release, View))
        Released = &Release;
    if (!Released || !claim(Allocation.Call->Site->getExprLoc(), View))
      continue;
    report(Allocation.Call->Site->getExprLoc(),
           "the elements of '" + Array->getName() +
               "' are allocated in one loop and released in another",
           "allocate one block");
    diag(Released->Call->Site->getExprLoc(), "released here",
         DiagnosticIDs::Note);
  }
}

} // namespace vfriendly::tidy
