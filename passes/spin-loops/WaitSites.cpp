//===- WaitSites.cpp - The waits of a module and their notifies -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/WaitSites.h"

#include "passes/common/RuntimeCalls.h"
#include "passes/spin-loops/WaitCall.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace vfriendly {

void WaitSites::addEarlier(Module &M, FunctionAnalysisManager &FAM) {
  SmallPtrSet<const CallInst *, 8> Known;
  for (const Site &S : Sites)
    Known.insert(S.Call);
  for (StringRef Name : {WaitFunction, BoundedWaitFunction}) {
    Function *Wait = M.getFunction(Name);
    if (!Wait)
      continue;
    for (User *U : Wait->users()) {
      auto *Call = dyn_cast<CallInst>(U);
      if (!Call || Call->getCalledFunction() != Wait || Known.contains(Call) ||
          !canBeNotified(*Call))
        continue;
      auto &LI = FAM.getResult<LoopAnalysis>(*Call->getFunction());
      if (auto Where = locateWait(*Call, LI))
        Sites.push_back({Call, *Where, NotifyKey()});
    }
  }
}

WaitSites::Outcome
WaitSites::notify(Writers &AllWriters,
                  function_ref<bool(const Function &)> MayChange) const {
  SmallVector<Awaited, 0> Places;
  for (const Site &S : Sites)
    Places.push_back({S.Where, S.Call != nullptr, S.Key});
  Writers::Outcome Done = AllWriters.instrument(Places, MayChange);
  // A wait for several words is notified if the writers of each of these words
  // notify.
  MapVector<CallInst *, bool> IsCovered;
  for (auto [S, Covered] : zip_equal(Sites, Done.Covered))
    if (S.Call)
      IsCovered.insert({S.Call, true}).first->second &= Covered;
  Outcome Result;
  Result.Changed = std::move(Done.Changed);
  for (auto [Call, Covered] : IsCovered) {
    if (Covered)
      setNotified(*Call);
    (Covered ? Result.Covered : Result.Uncovered).push_back(Call);
  }
  return Result;
}

} // namespace vfriendly
