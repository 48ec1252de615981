//===- HeldLocks.cpp - Long calls in critical sections --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only a remark depends on this, so that what is not found is not said: a lock
// whose address is computed anew for the release, or that another function
// releases.
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/HeldLocks.h"

#include "passes/analysis/common/LongNames.h"
#include "passes/analysis/waits/LoopView.h"
#include "passes/spin-loops/Writers.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace vfriendly {

/// Maximum number of blocks of a critical section that are looked at.
static constexpr unsigned MaxBlocks = 200;

static bool writes(const Instruction &I, const Cell &Lock) {
  std::optional<MemoryLocation> Written = writtenBy(I);
  return Written && cellOf(Written->Ptr, I.getDataLayout()) == Lock;
}

/// Returns the loop around the wait that tries to take the lock: that of the
/// wait, or the next one, if the former only reads.
static const Loop *loopThatTakes(const Cell &Lock, const Loop *L) {
  for (unsigned Depth = 0; L && Depth != 2; L = L->getParentLoop(), ++Depth)
    for (const BasicBlock *BB : L->blocks())
      for (const Instruction &I : *BB)
        if (!isa<StoreInst>(I) && writes(I, Lock))
          return L;
  return nullptr;
}

static bool mayTakeLong(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  if (!Callee)
    return false;
  StringRef Name = Callee->getName();
  return longByName(Name) || Name.starts_with("_Znw") ||
         Name.starts_with("_Zna") || Name.starts_with("_Zdl") ||
         Name.starts_with("_Zda");
}

const CallBase *longCallWhileHeld(const CallInst &Wait, const LoopInfo &LI) {
  const Cell Lock = cellOf(Wait.getArgOperand(0), Wait.getDataLayout());
  const Loop *L = loopThatTakes(Lock, LI.getLoopFor(Wait.getParent()));
  if (!L)
    return nullptr;
  SmallVector<BasicBlock *, 4> Exits;
  L->getUniqueExitBlocks(Exits);
  SmallSetVector<const BasicBlock *, 16> Held(Exits.begin(), Exits.end());
  const CallBase *Found = nullptr;
  bool Releases = false;
  for (unsigned N = 0; N != Held.size() && N != MaxBlocks; ++N) {
    bool Ends = false;
    for (const Instruction &I : *Held[N]) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (Call && !Found && mayTakeLong(*Call))
        Found = Call;
      Ends |= writes(I, Lock);
      if (Ends)
        break;
    }
    Releases |= Ends;
    if (!Ends)
      for (const BasicBlock *Next : successors(Held[N]))
        if (!L->contains(Next))
          Held.insert(Next);
  }
  return Releases ? Found : nullptr;
}

} // namespace vfriendly
