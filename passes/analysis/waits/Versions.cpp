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

namespace {

/// A value that the loop has read, and where. A place without an object stands
/// for other values.
struct Read {
  const Instruction *Value = nullptr;
  Place At;
};

class ReadFinder {
public:
  ReadFinder(const Loop &L) : L(L), DL(L.getHeader()->getDataLayout()) {}

  Read find(const Value *V, unsigned Steps = 0);

private:
  Place placeOfAll(ArrayRef<const Value *> Values, unsigned Steps);

  const Loop &L;
  const DataLayout &DL;
  SmallPtrSet<const Value *, 4> Followed;
};

/// Returns the place where all values were read. Values that are followed
/// already add nothing: where the loop goes on without a new read, a phi keeps
/// its value.
Place ReadFinder::placeOfAll(ArrayRef<const Value *> Values, unsigned Steps) {
  Place At;
  for (const Value *V : Values) {
    if (Followed.contains(V))
      continue;
    Place Before = find(V, Steps).At;
    if (!Before.first || (At.first && At != Before))
      return {};
    At = Before;
  }
  return At;
}

Read ReadFinder::find(const Value *V, unsigned Steps) {
  // A version may be some bits of the word.
  while (isa<CastInst, FreezeInst>(V) ||
         match(V, m_CombineOr(m_And(m_Value(), m_ImmConstant()),
                              m_Shift(m_Value(), m_ImmConstant()))))
    V = cast<Instruction>(V)->getOperand(0);
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !L.contains(I))
    return {};
  // Follows phis: one in the header may hold the value that the loop read one
  // or two iterations before, another joins what the iteration read and what an
  // inner loop read again. A local variable, such as the expected value of an
  // exchange, likewise has what the loop stores there.
  SmallVector<const Value *, 4> Kept;
  if (auto *Load = dyn_cast<LoadInst>(I)) {
    auto *Local = dyn_cast<AllocaInst>(Load->getPointerOperand());
    if (!Local || Steps == 2)
      return {I, placeOf(Load->getPointerOperand(), DL)};
    for (const User *U : Local->users())
      if (auto *Store = dyn_cast<StoreInst>(U); Store && L.contains(Store))
        Kept.push_back(Store->getValueOperand());
    return {I, placeOfAll(Kept, Steps + 1)};
  }
  if (auto *Phi = dyn_cast<PHINode>(I); Phi && Steps < 2) {
    for (unsigned N = 0; N != Phi->getNumIncomingValues(); ++N)
      if (L.contains(Phi->getIncomingBlock(N)))
        Kept.push_back(Phi->getIncomingValue(N));
    Followed.insert(Phi);
    Place At = placeOfAll(Kept, Steps + 1);
    Followed.erase(Phi);
    return {Phi, At};
  }
  auto *Call = dyn_cast<CallBase>(I);
  CallClass Class = Call ? classifyCall(*Call) : CallClass{CallEffect::Other};
  if (Class.Effect != CallEffect::AsmLoad)
    return {};
  return {I, placeOf(Class.Address, DL)};
}

} // namespace

bool joinsReads(const Loop &L, const PHINode &Phi) {
  // Maximum number of values and phis. The branches of a back-off join about
  // six.
  constexpr unsigned MaxJoined = 16;
  const DataLayout &DL = Phi.getDataLayout();
  // What was read may say where the loop reads next, as in a queue.
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B)
      if (isMarkedAccess(I) &&
          (isa<CallBase>(I) ||
           !L.isLoopInvariant(I.getOperand(isa<StoreInst>(I)))))
        return false;
  Place At;
  SmallSetVector<const Value *, 8> Joined;
  Joined.insert(&Phi);
  for (unsigned N = 0; N != Joined.size(); ++N) {
    auto *I = dyn_cast<Instruction>(Joined[N]);
    if (!I || !L.contains(I) || N == MaxJoined)
      return false;
    if (auto *Join = dyn_cast<PHINode>(I)) {
      // In the header, it has what an earlier iteration has read.
      for (unsigned In = 0; In != Join->getNumIncomingValues(); ++In)
        if (L.contains(Join->getIncomingBlock(In)))
          Joined.insert(Join->getIncomingValue(In));
      continue;
    }
    if (auto *Choice = dyn_cast<SelectInst>(I)) {
      Joined.insert(Choice->getTrueValue());
      Joined.insert(Choice->getFalseValue());
      continue;
    }
    const Instruction *By = I;
    if (auto *Part = dyn_cast<ExtractValueInst>(I);
        Part && Part->getIndices()[0] == 0)
      By = dyn_cast<AtomicCmpXchgInst>(Part->getAggregateOperand());
    if (!isa_and_nonnull<LoadInst, AtomicCmpXchgInst>(By))
      return false;
    Place Here = placeOf(By->getOperand(0), DL);
    if (At.first && Here != At)
      return false;
    At = Here;
  }
  return true;
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
  ReadFinder Reads(L);
  Read First = Reads.find(Left), Second = Reads.find(Right);
  return First.At.first && First.At == Second.At && First.Value != Second.Value;
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
