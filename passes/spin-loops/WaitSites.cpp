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

#include <algorithm>

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
          notifiedBy(*Call) == Notified::ByAll)
        continue;
      auto &LI = FAM.getResult<LoopAnalysis>(*Call->getFunction());
      auto Where = locateWait(*Call, LI);
      if (Where &&
          (notifiedBy(*Call) == Notified::Unknown || Writers::isClosed(*Where)))
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
  MapVector<CallInst *, Notified> By;
  for (auto [S, Covered] : zip_equal(Sites, Done.Covered)) {
    if (!S.Call)
      continue;
    Notified Word = !Covered                     ? Notified::Unknown
                    : Writers::isClosed(S.Where) ? Notified::ByAll
                                                 : Notified::BySome;
    Notified &All = By.insert({S.Call, Notified::ByAll}).first->second;
    All = std::min(All, Word);
  }
  Outcome Result;
  Result.Changed = std::move(Done.Changed);
  for (auto [Call, Known] : By) {
    Notified Before = notifiedBy(*Call);
    if (Known <= Before) {
      if (Before == Notified::Unknown)
        Result.Uncovered.push_back(Call);
      continue;
    }
    setNotified(*Call, Known);
    Result.Covered.push_back(Call);
  }
  return Result;
}

SmallVector<CallInst *, 4> waitsEndedBySome(Module &M) {
  SmallVector<CallInst *, 4> Found;
  for (StringRef Name : {WaitFunction, BoundedWaitFunction})
    if (Function *Wait = M.getFunction(Name))
      for (User *U : Wait->users())
        if (auto *Call = dyn_cast<CallInst>(U);
            Call && Call->getCalledFunction() == Wait &&
            notifiedBy(*Call) == Notified::BySome)
          Found.push_back(Call);
  return Found;
}

} // namespace vfriendly
