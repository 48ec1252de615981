//===- HeapReach.cpp - Functions that use the heap in loops ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/HeapReach.h"

#include "checkers/common/WaitNeutral.h"

using namespace clang;

namespace vfriendly::tidy {

unsigned HeapReach::whatIs(const HeapFunction *Does) {
  // `realloc(NULL, n)` allocates.
  return !Does || Does->Op == HeapOp::None ? 0
         : Does->Op == HeapOp::Release     ? Releases
                                           : Allocates;
}

/// Returns the heap operation that a call of F is: Allocates, Releases or none.
unsigned HeapReach::doesItself(const FunctionDecl &F) {
  switch (F.getOverloadedOperator()) {
  case OO_New:
  case OO_Array_New:
    return Allocates;
  case OO_Delete:
  case OO_Array_Delete:
    return Releases;
  default:
    break;
  }
  return whatIs(Heap.find(F));
}

unsigned HeapReach::doesIfInlined(const FunctionDecl &F) {
  if (isOfStd(F))
    return 0;
  unsigned Does = doesItself(F);
  const FunctionDecl *Definition = loweredDefinition(F);
  if (Does == Both || !Definition)
    return Does;
  // A recursive call adds nothing.
  auto [Place, IsNew] = Inlined.try_emplace(Definition, 0);
  if (!IsNew)
    return Does | Place->second;
  const FunctionBody &In = Bodies.of(*Definition);
  if (!In.isSmall())
    return Does;
  unsigned Inside = 0;
  for (const FunctionBody::Use &Each : In.Uses)
    if (Inside != Both)
      Inside |= doesIfInlined(*Each.Function);
  for (const FunctionBody::PointerUse &Each : In.Pointers)
    Inside |= whatIs(Heap.find(*Each.Pointer));
  Inlined[Definition] = Inside;
  return Does | Inside;
}

bool HeapReach::doesBoth(const FunctionDecl &F, bool InLoops) {
  const FunctionBody &In = Bodies.of(F);
  // What an iteration releases it has allocated in the same loop.
  llvm::SmallDenseMap<const Stmt *, unsigned, 4> Does;
  auto Add = [&](const Stmt *Loop, auto Find) {
    if (InLoops && !Loop && !In.HasGoto)
      return;
    unsigned &OfLoop = Does[InLoops && !In.HasGoto ? Loop : nullptr];
    if (OfLoop != Both)
      OfLoop |= Find();
  };
  for (const FunctionBody::Use &Each : In.Uses)
    Add(Each.Loop, [&] { return doesIfInlined(*Each.Function); });
  for (const FunctionBody::PointerUse &Each : In.Pointers)
    Add(Each.Loop, [&] { return whatIs(Heap.find(*Each.Pointer)); });
  return llvm::any_of(Does, [](auto &Each) { return Each.second == Both; });
}

bool HeapReach::churns(const FunctionDecl &F) {
  return Bodies.of(F).HasLoop && doesBoth(F, /*InLoops=*/true);
}

bool HeapReach::churnsInCall(const FunctionDecl &F) {
  return doesBoth(F, /*InLoops=*/false);
}

} // namespace vfriendly::tidy
