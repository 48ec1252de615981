//===- GiveWay.cpp - Yields in loops that may do more than wait -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the transformation that GiveWay.h draws.
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/GiveWay.h"

#include "passes/analysis/common/KeepMarks.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/BoundedSpin.h"
#include "passes/analysis/waits/Deadline.h"
#include "runtime/include/vfriendly/spin_wait.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace vfriendly {

/// Returns the CPU's spin hints in L and in loops inside it, except those that
/// are marked to be kept: of several in a block, as of a delay written out, the
/// last one. A function that is a hint by its name alone is none: it may yield
/// already.
static SmallVector<CallInst *, 2> pausesIn(const Loop &L) {
  const auto Inside = L.getLoopsInPreorder();
  auto IsKept = [&](const BasicBlock *B) {
    return any_of(Inside, [&](const Loop *In) {
      return isMarked(*In, KeepMark) && In->contains(B);
    });
  };
  SmallVector<CallInst *, 2> Pauses;
  auto IsPause = [](const Instruction &I) {
    auto *Call = dyn_cast<CallInst>(&I);
    return Call && classifyCall(*Call).Effect == CallEffect::Pause;
  };
  for (BasicBlock *B : L.blocks()) {
    if (auto Last = find_if(reverse(*B), IsPause);
        Last != B->rend() && !IsKept(B))
      Pauses.push_back(cast<CallInst>(&*Last));
  }
  return Pauses;
}

bool mayGiveWay(const SpinLoop &S) {
  if (!S.AlwaysHints || S.ByName || S.Yields || S.Sleeps ||
      pausesIn(*S.L).empty() || (S.ByClock && !whyNotUntil(S).empty()))
    return false;
  return none_of(S.L->getLoopsInPreorder(), [&](const Loop *In) {
    return In != S.L && !isMarked(*In, KeepMark) &&
           (isMarked(*In, DecidedMark) || isMarked(*In, YieldMark));
  });
}

/// Inserts what follows a pause. State and Polls are variables.
static void countPause(CallInst &Pause, AllocaInst &State, AllocaInst &Polls,
                       DomTreeUpdater &Updater, LoopInfo &LI) {
  Function &F = *Pause.getFunction();
  IRBuilder<> B(Pause.getNextNode());
  B.SetCurrentDebugLocation(Pause.getDebugLoc());
  Value *Left =
      B.CreateSub(B.CreateLoad(B.getInt64Ty(), &Polls), B.getInt64(1));
  B.CreateStore(Left, &Polls);
  B.SetInsertPoint(SplitBlockAndInsertIfThen(
      B.CreateICmpEQ(Left, B.getInt64(0)), B.GetInsertPoint(),
      /*Unreachable=*/false,
      MDBuilder(F.getContext()).createUnlikelyBranchWeights(), &Updater, &LI));
  CallInst *Call =
      emitBoundedCall(B, F, ConstantPointerNull::get(B.getPtrTy()),
                      B.getInt64(0), B.CreateLoad(B.getInt64Ty(), &State),
                      VF_SPIN_MAY_WORK, /*Block=*/1, B.getInt64(UINT64_MAX));
  Value *Next = B.CreateExtractValue(Call, 0);
  B.CreateStore(Next, &State);
  B.CreateStore(B.CreateAdd(B.CreateAnd(Next, B.getInt64(VF_SPIN_POLLS_MASK)),
                            B.getInt64(1)),
                &Polls);
}

bool emitGiveWay(Loop &L, LoopInfo &LI, DominatorTree &DT) {
  SmallVector<CallInst *, 2> Pauses = pausesIn(L);
  if (Pauses.empty())
    return false;
  BasicBlock &Entry = L.getHeader()->getParent()->getEntryBlock();
  IRBuilder<> B(&Entry, Entry.getFirstInsertionPt());
  AllocaInst *State = B.CreateAlloca(B.getInt64Ty(), nullptr, "vf.state");
  AllocaInst *Polls = B.CreateAlloca(B.getInt64Ty(), nullptr, "vf.polls");
  for (BasicBlock *Pred : predecessors(L.getHeader()))
    if (!L.contains(Pred)) {
      B.SetInsertPoint(Pred->getTerminator());
      B.CreateStore(B.getInt64(0), State);
      B.CreateStore(B.getInt64(VF_SPIN_POLLS_UNCALLED), Polls);
    }
  DomTreeUpdater Updater(DT, DomTreeUpdater::UpdateStrategy::Eager);
  for (CallInst *Pause : Pauses)
    countPause(*Pause, *State, *Polls, Updater, LI);
  PromoteMemToReg({State, Polls}, DT);
  mark(L, DecidedMark);
  return true;
}

} // namespace vfriendly
