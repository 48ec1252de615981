//===- Allocation.cpp - Heap memory that a function keeps to itself -------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Allocation.h"

#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace vfriendly {

bool isPlainAllocation(const CallBase &Call, const TargetLibraryInfo &TLI) {
  return isRemovableAlloc(&Call, &TLI) && !Call.isMustTailCall() &&
         getAllocationFamily(&Call, &TLI);
}

namespace {

class Follower {
public:
  Follower(CallBase &Call, const TargetLibraryInfo &TLI)
      : TLI(TLI), Family(*getAllocationFamily(&Call, &TLI)) {
    Found.Call = &Call;
  }

  Allocation run() {
    follow(*Found.Call, /*IsStart=*/true);
    return std::move(Found);
  }

private:
  void giveUp(StringRef Why) {
    if (Found.Known)
      Found.Why = Why;
    Found.Known = false;
  }

  void follow(Value &V, bool IsStart) {
    for (Use &U : V.uses()) {
      if (!Found.Known)
        return;
      followUse(U, IsStart);
    }
  }

  void followUse(Use &U, bool IsStart) {
    auto *I = cast<Instruction>(U.getUser());
    if (isa<GetElementPtrInst, BitCastInst>(I))
      return follow(*I, IsStart && isa<BitCastInst>(I));
    Found.Users.push_back(I);
    if (auto *Load = dyn_cast<LoadInst>(I))
      return Load->isVolatile() ? giveUp("it is read by a volatile access")
                                : void();
    if (auto *Store = dyn_cast<StoreInst>(I)) {
      if (U.getOperandNo() != StoreInst::getPointerOperandIndex())
        return giveUp("its address is stored");
      return Store->isVolatile() ? giveUp("it is written by a volatile access")
                                 : void();
    }
    if (isa<AtomicRMWInst, AtomicCmpXchgInst>(I))
      return giveUp("it is accessed atomically");
    if (auto *Compare = dyn_cast<ICmpInst>(I)) {
      // Where it lies must not matter, but whether there is any.
      if (!IsStart || !Compare->isEquality() ||
          !isa<ConstantPointerNull>(Compare->getOperand(1 - U.getOperandNo())))
        return giveUp("its address is compared");
      Found.Tests.push_back(Compare);
      return;
    }
    if (auto *Call = dyn_cast<CallBase>(I))
      return followCall(*Call, U, IsStart);
    if (isa<ReturnInst>(I))
      return giveUp("it is returned");
    giveUp(isa<PHINode, SelectInst>(I) ? "its address is one of several"
                                       : "its address is computed with");
  }

  void followCall(CallBase &Call, Use &U, bool IsStart) {
    if (Value *Freed = getFreedOperand(&Call, &TLI);
        Freed && Freed == U.get()) {
      if (isReallocLikeFn(Call))
        return giveUp("its size is changed");
      if (!IsStart || getAllocationFamily(&Call, &TLI) != Family)
        return giveUp("it is freed in another way");
      Found.Frees.push_back(&Call);
      return;
    }
    if (auto *Memory = dyn_cast<MemIntrinsic>(&Call))
      return Memory->isVolatile()
                 ? giveUp("it is accessed by a volatile intrinsic")
                 : void();
    if (!Call.isArgOperand(&U))
      return giveUp("its address is used in an unusual way");
    unsigned Number = Call.getArgOperandNo(&U);
    if (Call.isMustTailCall())
      return giveUp("its address is given to a tail call");
    if (!Call.doesNotCapture(Number))
      return giveUp("a function it is given to may keep its address");
    if (!Call.hasFnAttr(Attribute::NoFree) &&
        !Call.paramHasAttr(Number, Attribute::NoFree) &&
        !Call.onlyReadsMemory(Number))
      return giveUp("a function it is given to may free it");
    Found.Borrowers.push_back(&Call);
  }

  bool isReallocLikeFn(const CallBase &Call) const {
    return getReallocatedOperand(&Call) != nullptr;
  }

  Allocation Found;
  const TargetLibraryInfo &TLI;
  StringRef Family;
};

} // namespace

Allocation followAllocation(CallBase &Call, const TargetLibraryInfo &TLI) {
  return Follower(Call, TLI).run();
}

} // namespace vfriendly
