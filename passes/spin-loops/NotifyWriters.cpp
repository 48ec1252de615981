//===- NotifyWriters.cpp - Makes writers notify ---------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the only member function of Writers that changes the module. The
// other members only analyse; they are in Writers.cpp, which does not include
// Rewrite.h.
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/Rewrite.h"
#include "passes/spin-loops/Writers.h"

#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace vfriendly {

void Writers::instrument(Group &G, const Writer &W, bool MayChange,
                         SmallSetVector<Function *, 4> &Changed) {
  Function &F = *W.I->getFunction();
  // No code can be inserted directly after an invoke, asm goto, or a musttail
  // call.
  auto *Call = dyn_cast<CallInst>(W.I);
  bool HasPlaceAfter =
      !W.I->isTerminator() && !(Call && Call->isMustTailCall());
  if (MayChange && G.Releases)
    if (auto *Store = dyn_cast<StoreInst>(W.I);
        Store && Store->isUnordered() && !Store->isVolatile() &&
        canBeAtomic(Store->getValueOperand()->getType(), Store->getAlign(),
                    M.getDataLayout())) {
      Store->setAtomic(AtomicOrdering::Release);
      Changed.insert(&F);
    }
  if (G.Notifies.empty())
    return;
  if (!MayChange || !HasPlaceAfter) {
    G.AnySilent = true;
    return;
  }
  // Counts this notify only if F is a strong definition: otherwise the linker
  // may choose a copy of F from another file, which does not notify.
  G.AnyLoud |= F.isStrongDefinitionForLinker();
  if (emitNotify(*W.I, *W.address(), G.Notifies))
    Changed.insert(&F);
}

Writers::Outcome
Writers::instrument(ArrayRef<Awaited> Waits,
                    function_ref<bool(const Function &)> MayChange) {
  // The different locations in Waits. Many waits poll the same location, so
  // each location is examined once.
  struct Asked {
    Awaited W;
    bool AnyLoud = false, AnySilent = false;
  };
  SmallVector<Asked, 0> Places;
  using Asking = std::tuple<LocationId, unsigned, const void *, int64_t>;
  DenseMap<Asking, unsigned> PlaceOf;
  SmallVector<unsigned, 0> Of;
  for (const Awaited &W : Waits) {
    auto [It, New] = PlaceOf.try_emplace(
        Asking(idOf(W.Where), unsigned(W.Blocks), W.Key.Fixed, W.Key.Distance),
        Places.size());
    if (New)
      Places.push_back({W});
    Of.push_back(It->second);
  }
  for (const Asked &A : Places)
    anyMatch(A.W.Where, [&](unsigned G) {
      if (A.W.Blocks && !is_contained(Groups[G].Notifies, A.W.Key))
        Groups[G].Notifies.push_back(A.W.Key);
      Groups[G].Releases |=
          A.W.Where.Plain && surelyMatch(A.W.Where, Groups[G].Where);
      return false;
    });

  Outcome Result;
  DenseMap<const Function *, bool> Changeable;
  for (Group &G : Groups) {
    if (G.Notifies.empty() && !G.Releases)
      continue;
    for (const Writer &W : G.Members) {
      Function *F = W.I->getFunction();
      auto [It, New] = Changeable.try_emplace(F, false);
      if (New)
        It->second = MayChange(*F);
      instrument(G, W, It->second, Result.Changed);
    }
  }
  for (auto &A : Places)
    anyMatch(A.W.Where, [&](unsigned G) {
      A.AnyLoud |= Groups[G].AnyLoud;
      A.AnySilent |= Groups[G].AnySilent;
      return false;
    });
  for (unsigned I : Of)
    Result.Covered.push_back(Places[I].AnyLoud && !Places[I].AnySilent);
  return Result;
}

} // namespace vfriendly
