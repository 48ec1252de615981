//===- Versions.cpp - Comparisons of two reads of one word ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that compares what it reads with what it has read at the same place
// before sees whether another thread has made progress meanwhile.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/LoopView.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Returns V without casts and without operations by which a version may be
/// some bits of a word.
static const Value *withoutBits(const Value *V) {
  while (isa<CastInst, FreezeInst>(V) ||
         match(V, m_CombineOr(m_And(m_Value(), m_ImmConstant()),
                              m_Shift(m_Value(), m_ImmConstant()))))
    V = cast<Instruction>(V)->getOperand(0);
  return V;
}

Cell cellRead(const Loop &L, const Value *V) {
  // Maximum number of values that are followed. The branches of a back-off join
  // about six.
  constexpr unsigned MaxFollowed = 16;
  const DataLayout &DL = L.getHeader()->getDataLayout();
  Cell At;
  SmallSetVector<const Value *, 8> Values;
  auto Follow = [&](const Value *Each) { Values.insert(withoutBits(Each)); };
  Follow(V);
  for (unsigned N = 0; N != Values.size(); ++N) {
    auto *I = dyn_cast<Instruction>(Values[N]);
    if (!I || !L.contains(I) || N == MaxFollowed)
      return {};
    const Value *Address = nullptr;
    // Phis: one in the header may hold the value that the loop read one or two
    // iterations before, another joins what the iteration read and what an
    // inner loop read again. A local variable, such as the expected value of an
    // exchange, likewise has what the loop stores there.
    if (auto *Phi = dyn_cast<PHINode>(I)) {
      for (unsigned In = 0; In != Phi->getNumIncomingValues(); ++In)
        if (L.contains(Phi->getIncomingBlock(In)))
          Follow(Phi->getIncomingValue(In));
      continue;
    }
    if (auto *Choice = dyn_cast<SelectInst>(I)) {
      Follow(Choice->getTrueValue());
      Follow(Choice->getFalseValue());
      continue;
    }
    if (auto *Load = dyn_cast<LoadInst>(I)) {
      Address = Load->getPointerOperand();
      if (auto *Local = dyn_cast<AllocaInst>(Address)) {
        for (const User *U : Local->users())
          if (auto *Store = dyn_cast<StoreInst>(U); Store && L.contains(Store))
            Follow(Store->getValueOperand());
        continue;
      }
    } else if (auto *Part = dyn_cast<ExtractValueInst>(I)) {
      auto *Failed = dyn_cast<AtomicCmpXchgInst>(Part->getAggregateOperand());
      if (Failed && Part->getIndices()[0] == 0)
        Address = Failed->getPointerOperand();
    } else if (auto *Call = dyn_cast<CallBase>(I)) {
      CallClass Class = classifyCall(*Call);
      if (Class.Effect == CallEffect::AsmLoad)
        Address = Class.Address;
    }
    if (!Address || (At.first && cellOf(Address, DL) != At))
      return {};
    At = cellOf(Address, DL);
  }
  return At;
}

bool joinsReads(const Loop &L, const PHINode &Phi) {
  // What was read may say where the loop reads next, as in a queue.
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B)
      if (isMarkedAccess(I) &&
          (isa<CallBase>(I) ||
           !L.isLoopInvariant(I.getOperand(isa<StoreInst>(I)))))
        return false;
  return cellRead(L, &Phi).first;
}

bool isVersionCheck(const Loop &L, const Value *Condition, unsigned Depth) {
  // Maximum depth of operands: `!((a & 1) || a != b)` has 3 levels, and one is
  // spare.
  if (Depth > 4)
    return false;
  auto *Compare = dyn_cast<ICmpInst>(Condition);
  if (!Compare) {
    auto *I = dyn_cast<Instruction>(Condition);
    return I && L.contains(I) &&
           isa<SelectInst, BinaryOperator, FreezeInst, PHINode>(I) &&
           any_of(I->operands(), [&](const Value *Op) {
             return isVersionCheck(L, Op, Depth + 1);
           });
  }
  // The optimizer compares bits of two words by an exclusive or.
  const Value *Left = Compare->getOperand(0), *Right = Compare->getOperand(1);
  if (isa<Constant>(Right))
    match(Left, m_Xor(m_Value(Left), m_Value(Right)));
  Cell At = cellRead(L, Left);
  return At.first && At == cellRead(L, Right) &&
         withoutBits(Left) != withoutBits(Right);
}

bool endsUnchanged(const Loop &L, const ExitLeaf &Leaf) {
  auto *Compare = dyn_cast<ICmpInst>(Leaf.Condition);
  if (Compare &&
      (!Compare->isEquality() ||
       (Compare->getPredicate() == ICmpInst::ICMP_NE) != Leaf.StaysIf))
    return false;
  return isVersionCheck(L, Leaf.Condition);
}

} // namespace vfriendly
