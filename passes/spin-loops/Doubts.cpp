//===- Doubts.cpp - Waits that only their author can vouch for ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that gives a spin hint in every round says that it waits, even where
// the rest of the round does not show: a function of another file is polled,
// statistics are kept, a log is written now and then. Such loops are worth a
// report, and nothing more: what is in doubt is never rewritten.
//
//===----------------------------------------------------------------------===//

#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/LoopJudge.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

static CallEffect shownOrPromised(const CallBase &Call) {
  CallEffect Effect = classifyCall(Call).Effect;
  return Effect == CallEffect::Other ? promisedEffect(Call) : Effect;
}

/// Does every round that goes on give a hint, or wait in a loop inside? Where it
/// is a hint to other threads, not a delay for a device, what a call returns may
/// be what is waited for.
bool LoopJudge::authorSaysItWaits() {
  SmallPtrSet<BasicBlock *, 8> Hinting, Pausing;
  for (BasicBlock *B : L.blocks()) {
    // A hint inside an inner loop is given as often as that loop is come to.
    BasicBlock *At = B;
    for (Loop *Sub = LI.getLoopFor(B); Sub && Sub != &L;
         Sub = Sub->getParentLoop())
      At = Sub->getHeader();
    for (Instruction &I : *B) {
      auto *Call = dyn_cast<CallBase>(&I);
      CallEffect Effect = Call ? shownOrPromised(*Call) : CallEffect::Other;
      bool Pauses = Effect == CallEffect::Pause || Effect == CallEffect::Yield;
      if (Pauses || Effect == CallEffect::Sleep)
        Hinting.insert(At);
      if (Pauses)
        Pausing.insert(At);
    }
  }
  for (const SpinLoop &S : Inner.Loops)
    if (S.L != &L && L.contains(S.L) && S.Kind != SpinKind::Retry &&
        S.Kind != SpinKind::Device)
      Hinting.insert(S.L->getHeader());
  if (!everyRoundPasses(Hinting))
    return false;
  if (everyRoundPasses(Pausing))
    Collector.takeCallsAsPolls();
  return true;
}

bool LoopJudge::excuseEffects() {
  return all_of(Effects, [&](Instruction *I) { return excuse(*I); });
}

/// Kept in memory, but a count all the same: ++statistics.waits.
static bool isStatistics(const StoreInst &Store) {
  Value *Old;
  return Store.isSimple() &&
         match(Store.getValueOperand(),
               m_CombineOr(m_Add(m_Value(Old), m_ImmConstant()),
                           m_Sub(m_Value(Old), m_ImmConstant()))) &&
         isa<LoadInst>(Old) &&
         cast<LoadInst>(Old)->getPointerOperand() == Store.getPointerOperand();
}

/// Counted out again in the same round: a reader who came too early.
static bool isTakenBack(const AtomicRMWInst &RMW, const Loop &L) {
  auto Opposite = [](AtomicRMWInst::BinOp Op) {
    return Op == AtomicRMWInst::Add   ? AtomicRMWInst::Sub
           : Op == AtomicRMWInst::Sub ? AtomicRMWInst::Add
                                      : AtomicRMWInst::BAD_BINOP;
  };
  auto TakesBack = [&](const Instruction &I) {
    auto *Other = dyn_cast<AtomicRMWInst>(&I);
    if (!Other || Other->getPointerOperand() != RMW.getPointerOperand())
      return false;
    if (Other->getOperation() == Opposite(RMW.getOperation()))
      return Other->getValOperand() == RMW.getValOperand();
    auto *Amount = dyn_cast<ConstantInt>(RMW.getValOperand());
    auto *Back = dyn_cast<ConstantInt>(Other->getValOperand());
    return Other->getOperation() == RMW.getOperation() && Amount && Back &&
           Opposite(RMW.getOperation()) != AtomicRMWInst::BAD_BINOP &&
           Amount->getValue() == -Back->getValue();
  };
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, TakesBack);
  });
}

/// Done once in a number of rounds, or after a time.
bool LoopJudge::isRare(BasicBlock *B) {
  for (BasicBlock *D : L.blocks()) {
    auto *Br = dyn_cast<BranchInst>(D->getTerminator());
    if (!Br || !Br->isConditional() || D == B || !DT.dominates(D, B) ||
        LI.getLoopFor(D) != &L || !L.contains(Br->getSuccessor(0)) || !L.contains(Br->getSuccessor(1)))
      continue;
    if (none_of(successors(D), [&](BasicBlock *S) {
          return DT.dominates(BasicBlockEdge(D, S), B);
        }))
      continue;
    Causes C = Collector.collect(Br->getCondition());
    if (C.Own || C.Clock)
      return true;
  }
  return false;
}

bool LoopJudge::excuse(Instruction &Effect) {
  auto Doubt = [&](std::string Why) {
    if (Found.Doubt.empty())
      Found.Doubt = std::move(Why);
    return true;
  };
  auto *Call = dyn_cast<CallBase>(&Effect);
  if (Call && (promisedEffect(*Call) != CallEffect::Other ||
               Accesses.contains(Call) || Pointers.contains(Call))) {
    std::string Name = calledName(*Call);
    return Doubt("it calls " +
                 (Name.empty() ? "a function" : "'" + Name + "'") +
                 ", whose effects do not show");
  }
  if (auto *Store = dyn_cast<StoreInst>(&Effect))
    if (isStatistics(*Store))
      return Doubt("it keeps a count in shared memory");
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&Effect))
    if (isTakenBack(*RMW, L))
      return Doubt("it takes each try back");
  if (isRare(Effect.getParent()))
    return Doubt("it does more from time to time");
  return false;
}

} // namespace vfriendly
