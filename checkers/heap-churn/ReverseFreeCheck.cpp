//===- ReverseFreeCheck.cpp - vfriendly-heap-churn-reverse-free -----------===//
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

using namespace clang;

namespace vfriendly::tidy {

void ReverseFreeCheck::inspect(FunctionView &View) {
  if (View.loops().empty())
    return;
  for (const ElementCall &Release : releasesOfElements(View)) {
    if (directionOf(Release.Index, Release.Loop, View) != std::optional(-1))
      continue;
    const ElementCall *Allocated = nullptr;
    SmallVector<ElementCall, 4> Allocations = allocationsOfElements(View);
    for (const ElementCall &Allocation : Allocations)
      if (Allocation.Array == Release.Array &&
          Allocation.Loop != Release.Loop &&
          directionOf(Allocation.Index, Allocation.Loop, View) ==
              std::optional(1))
        Allocated = &Allocation;
    if (!Allocated || unwinds(*Allocated, Release, View) ||
        isCold(Release.Loop, View) ||
        !claim(Release.Call->Site->getExprLoc(), View))
      continue;
    report(Release.Call->Site->getExprLoc(),
           "loop releases the elements of '" + Release.Array->getName() +
               "' in reverse order of allocation",
           "release in the order of allocation")
        << reverseLoop(Release, View);
    diag(Allocated->Call->Site->getExprLoc(), "allocated here",
         DiagnosticIDs::Note);
  }
}

} // namespace vfriendly::tidy
