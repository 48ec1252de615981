//===- LoopEffects.cpp - Effects of a loop besides waiting ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/LoopJudge.h"
#include "passes/spin-loops/RuntimeCalls.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

void LoopJudge::noteHint(CallEffect Effect) {
  Found.Pauses |= Effect == CallEffect::Pause;
  Found.Yields |= Effect == CallEffect::Yield;
  Found.Sleeps |= Effect == CallEffect::Sleep;
}

/// Collects the effects that may be visible outside the loop, and its hints.
void LoopJudge::scanEffects() {
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B) {
      if (auto *Call = dyn_cast<CallBase>(&I)) {
        noteHint(classifyCall(*Call).Effect);
        if (const Function *Callee = summarizedCallee(*Call))
          Found.Summarized = Callee->getName();
      }
      if (mayHaveEffect(I, L, LI)) {
        Effects.push_back(&I);
        if (Effects.size() > MaxEffects)
          return;
      }
    }
  for (Instruction *I : Effects)
    if (auto *Call = dyn_cast<CallBase>(I))
      noteHint(promisedEffect(*Call));
}

/// Returns true if the operation is idempotent: repeating it in L leaves memory
/// as after the first execution.
static bool isIdempotent(const AtomicRMWInst &RMW, const Loop &L) {
  if (!L.isLoopInvariant(RMW.getValOperand()))
    return false;
  switch (RMW.getOperation()) {
  case AtomicRMWInst::Xchg:
  case AtomicRMWInst::Or:
  case AtomicRMWInst::And:
  case AtomicRMWInst::Max:
  case AtomicRMWInst::Min:
  case AtomicRMWInst::UMax:
  case AtomicRMWInst::UMin:
    return true;
  case AtomicRMWInst::Add: // fetch_add(x, 0), an atomic read
  case AtomicRMWInst::Sub:
  case AtomicRMWInst::Xor:
    return match(RMW.getValOperand(), m_Zero());
  default:
    return false;
  }
}

bool mayHaveEffect(const Instruction &I, const Loop &L, const LoopInfo &LI) {
  if (auto *Memory = dyn_cast<MemIntrinsic>(&I))
    return mayBeShared(Memory->getDest());
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    CallClass Class = classifyCall(*Call);
    // Ignores a wait that an earlier run of the pass has inserted into an inner
    // loop of L.
    if (calls(*Call, WaitFunction))
      return LI.getLoopFor(I.getParent()) == &L;
    if (Class.Effect == CallEffect::AsmStore)
      return mayBeShared(Class.Address);
    return Class.Effect == CallEffect::AsmAdd ||
           Class.Effect == CallEffect::Other;
  }
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return mayBeShared(Store->getPointerOperand());
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
    return !isIdempotent(*RMW, L);
  if (isa<LoadInst, AtomicCmpXchgInst, FenceInst>(I))
    return false;
  return I.mayReadOrWriteMemory() || isa<AllocaInst>(I) || I.isEHPad();
}

/// Returns true if V, the next value of Phi, may be the result of counting: it
/// is Phi, a constant (a reset), a sum or difference (the step may grow, as in
/// a back-off), or such a value after a shift, multiplication, selection or
/// limit.
static bool countsFrom(const Value &V, const PHINode &Phi, const Loop &L,
                       unsigned Depth = 0) {
  // Maximum depth of operands: a selected, limited, conditional step has 4
  // levels; 2 are spare.
  if (Depth > 6)
    return false;
  if (&V == &Phi || isa<Constant>(V))
    return true;
  auto *I = dyn_cast<Instruction>(&V);
  if (!I || !L.contains(I))
    return false;
  auto From = [&](const Value *Op) {
    return countsFrom(*Op, Phi, L, Depth + 1);
  };
  switch (I->getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub:
    return true;
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
  case Instruction::Mul:
    return From(I->getOperand(0));
  case Instruction::Select:
    return From(I->getOperand(1)) && From(I->getOperand(2));
  case Instruction::PHI:
    return all_of(cast<PHINode>(I)->incoming_values(), From);
  default:
    return isa<MinMaxIntrinsic>(I) && From(I->getOperand(0)) &&
           From(I->getOperand(1));
  }
}

/// Returns true if Phi changes by constants only, or not at all.
static bool countsByConstants(const PHINode &Phi, const Loop &L) {
  SmallVector<const Value *, 8> Worklist{&Phi};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Worklist.empty()) {
    const Value *V = Worklist.pop_back_val();
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L.contains(I) || !Seen.insert(I).second)
      continue;
    const Value *Before;
    if (auto *P = dyn_cast<PHINode>(I))
      append_range(Worklist, P->incoming_values());
    else if (auto *Select = dyn_cast<SelectInst>(I))
      Worklist.append({Select->getTrueValue(), Select->getFalseValue()});
    else if (match(I, m_AddLike(m_Value(Before), m_ImmConstant())))
      Worklist.push_back(Before);
    else
      return false;
  }
  return true;
}

/// Returns true if the loop does work while it polls. There are three cases. A
/// header phi that depends on the loop's own progress decides the number of
/// iterations but is not a counter, or does not decide that number but is used
/// after the loop. The loop is bounded, gives no hint and reads a different
/// address in each iteration. The loop stores to thread-local memory.
bool LoopJudge::doesWork() {
  // Instructions that decide the number of iterations, of this loop and of
  // delays inside it.
  SmallPtrSet<const Value *, 16> Deciding;
  SmallVector<Value *, 16> Worklist(OwnConditions.begin(), OwnConditions.end());
  for (BasicBlock *B : L.blocks()) {
    Loop *Sub = LI.getLoopFor(B);
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    if (Sub != &L && Br && Br->isConditional() && Sub->isLoopExiting(B))
      Worklist.push_back(Br->getCondition());
  }
  while (!Worklist.empty()) {
    auto *I = dyn_cast<Instruction>(Worklist.pop_back_val());
    if (I && L.contains(I) && Deciding.insert(I).second)
      append_range(Worklist, I->operands());
  }
  auto IsUsedOutside = [&](const Value *V) {
    return any_of(V->users(), [&](const User *U) {
      return !L.contains(cast<Instruction>(U));
    });
  };
  for (PHINode &Phi : L.getHeader()->phis()) {
    if (!Collector.collect(&Phi).Own)
      continue;
    bool Counts = true, LivesOn = IsUsedOutside(&Phi);
    for (unsigned I = 0; I != Phi.getNumIncomingValues(); ++I) {
      Value *In = Phi.getIncomingValue(I);
      if (!L.contains(Phi.getIncomingBlock(I)) || In == &Phi)
        continue;
      LivesOn |= isa<Instruction>(In) && IsUsedOutside(In);
      Counts &= countsFrom(*In, Phi, L);
    }
    if (Deciding.contains(&Phi) ? Counts : !LivesOn)
      continue;
    // A wait may count its iterations. A loop that reads plain memory, and does
    // not give a hint in every iteration, more likely counts elements.
    if (Deciding.contains(&Phi) || !countsByConstants(Phi, L) ||
        (any_of(Accesses, isPlainLoad) &&
         !everyIterationHints(/*OnlyPauses=*/true)))
      return true;
    if (Found.Doubt.empty())
      Found.Doubt = "it keeps a count";
  }
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B) {
      if (auto *Load = dyn_cast<LoadInst>(&I)) {
        Causes Where = Collector.collect(Load->getPointerOperand());
        if (Found.Bounded && !Found.hints() &&
            (Where.Own || Where.Walks || Where.Inner))
          return true;
      }
      // A store to thread-local memory is work, because other code of the
      // thread may read it later.
      if (auto *Store = dyn_cast<StoreInst>(&I))
        if (!is_contained(Effects, Store) &&
            !isa<AllocaInst>(getUnderlyingObject(Store->getPointerOperand())))
          return true;
    }
  return false;
}

} // namespace vfriendly
