//===- Progress.cpp - What a loop carries from iteration to iteration -----===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LoopView.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

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
  case Instruction::Trunc: // A counter narrower than int.
  case Instruction::SExt:
  case Instruction::ZExt:
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
    else if (isa<TruncInst, SExtInst, ZExtInst>(I))
      Worklist.push_back(I->getOperand(0));
    else if (match(I, m_AddLike(m_Value(Before), m_ImmConstant())))
      Worklist.push_back(Before);
    else
      return false;
  }
  return true;
}

/// Returns the instructions that decide the number of iterations, of the loop
/// and of delays inside it.
static SmallPtrSet<const Value *, 16> decidingValues(const LoopView &In) {
  const Loop &L = In.L;
  SmallPtrSet<const Value *, 16> Deciding;
  SmallVector<Value *, 16> Worklist(In.OwnConditions.begin(),
                                    In.OwnConditions.end());
  for (BasicBlock *B : L.blocks()) {
    Loop *Sub = In.LI.getLoopFor(B);
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    if (Sub != &L && Br && Br->isConditional() && Sub->isLoopExiting(B))
      Worklist.push_back(Br->getCondition());
  }
  while (!Worklist.empty()) {
    auto *I = dyn_cast<Instruction>(Worklist.pop_back_val());
    if (I && L.contains(I) && Deciding.insert(I).second)
      append_range(Worklist, I->operands());
  }
  return Deciding;
}

/// Describes a header phi that depends on the loop's own progress.
static Carried describe(PHINode &Phi, const Loop &L, bool Decides) {
  auto IsUsedOutside = [&](const Value *V) {
    return any_of(V->users(), [&](const User *U) {
      return !L.contains(cast<Instruction>(U));
    });
  };
  Carried Is;
  Is.Decides = Decides;
  Is.Counts = true;
  Is.LivesOn = IsUsedOutside(&Phi);
  for (unsigned I = 0; I != Phi.getNumIncomingValues(); ++I) {
    Value *In = Phi.getIncomingValue(I);
    if (!L.contains(Phi.getIncomingBlock(I)) || In == &Phi)
      continue;
    Is.LivesOn |= isa<Instruction>(In) && IsUsedOutside(In);
    Is.Counts &= countsFrom(*In, Phi, L);
  }
  Is.ByConstants = countsByConstants(Phi, L);
  return Is;
}

void gatherProgress(LoopView &In, Gathered &G) {
  const Loop &L = In.L;
  SmallPtrSet<const Value *, 16> Deciding = decidingValues(In);
  for (PHINode &Phi : L.getHeader()->phis())
    if (In.Causes.collect(&Phi).kinds() & Own)
      G.Of.Carries.push_back(describe(Phi, L, Deciding.contains(&Phi)));
  // Only of loops with an exit of their own that give no hint is it asked what
  // they read.
  bool MayTraverse = !In.OwnConditions.empty() && !G.Of.hints();
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B) {
      if (auto *Load = dyn_cast<LoadInst>(&I); Load && MayTraverse)
        G.Of.ReadsElements |=
            (In.Causes.collect(Load->getPointerOperand()).kinds() &
             (Own | Walks | Inner)) != 0;
      if (auto *Store = dyn_cast<StoreInst>(&I))
        G.Of.StoresForItself |=
            !is_contained(In.Effects, Store) &&
            !isa<AllocaInst>(getUnderlyingObject(Store->getPointerOperand()));
    }
}

} // namespace vfriendly
