//===- Paths.cpp - Feasible paths through a loop --------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LoopView.h"
#include "passes/common/WaitNeutral.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

using KnownValues = SmallDenseMap<const Value *, Constant *, 8>;

/// Returns the constant to which V evaluates, given the values in Known; null
/// if V is not constant.
static Constant *valueOn(const KnownValues &Known, Value *V,
                         const DataLayout &DL, unsigned Depth = 0) {
  if (auto *C = dyn_cast<Constant>(V))
    return C;
  if (Constant *C = Known.lookup(V))
    return C;
  // Follows operands two levels deep: the result of a small function is
  // compared, and the comparison may be negated.
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !isa<ICmpInst, BinaryOperator>(I) || Depth == 2)
    return nullptr;
  Constant *Left = valueOn(Known, I->getOperand(0), DL, Depth + 1),
           *Right = valueOn(Known, I->getOperand(1), DL, Depth + 1);
  return Left && Right ? ConstantFoldInstOperands(I, {Left, Right}, DL)
                       : nullptr;
}

/// Records the values that the phis of B have when control comes from From, and
/// the value of the condition on which From branches.
static void enter(KnownValues &Known, BasicBlock *From, BasicBlock *B) {
  for (PHINode &Phi : B->phis())
    Known[&Phi] = dyn_cast<Constant>(Phi.getIncomingValueForBlock(From));
  auto *Br = dyn_cast<BranchInst>(From->getTerminator());
  if (Br && Br->isConditional() && Br->getSuccessor(0) != Br->getSuccessor(1))
    Known[Br->getCondition()] =
        ConstantInt::getBool(B->getContext(), B == Br->getSuccessor(0));
}

/// Returns the successor of B on a path with the values in Known; null if these
/// values do not determine the successor.
static BasicBlock *nextOn(const KnownValues &Known, BasicBlock *B) {
  if (BasicBlock *Only = B->getSingleSuccessor())
    return Only;
  auto *Br = dyn_cast<BranchInst>(B->getTerminator());
  auto *Switch = dyn_cast<SwitchInst>(B->getTerminator());
  if (!Br && !Switch)
    return nullptr;
  auto *Decides = dyn_cast_or_null<ConstantInt>(
      valueOn(Known, Br ? Br->getCondition() : Switch->getCondition(),
              B->getDataLayout()));
  if (!Decides)
    return nullptr;
  return Br ? Br->getSuccessor(Decides->isOne() ? 0 : 1)
            : Switch->findCaseValue(Decides)->getCaseSuccessor();
}

bool everyIterationPasses(const Loop &L,
                          const SmallPtrSetImpl<BasicBlock *> &Blocks,
                          EdgeTest Ends) {
  using Edge = std::pair<BasicBlock *, BasicBlock *>;
  SmallVector<Edge, 8> Worklist{{nullptr, L.getHeader()}};
  SmallDenseSet<Edge, 8> Seen;
  while (!Worklist.empty()) {
    auto [From, B] = Worklist.pop_back_val();
    if (Blocks.contains(B) || !Seen.insert({From, B}).second)
      continue;
    KnownValues Known;
    if (From)
      enter(Known, From, B);
    BasicBlock *Decided = nextOn(Known, B);
    for (BasicBlock *Next : successors(B)) {
      if ((Decided && Next != Decided) || (Ends && Ends(B, Next)))
        continue;
      if (Next == L.getHeader())
        return false;
      if (L.contains(Next))
        Worklist.push_back({B, Next});
    }
  }
  return true;
}

/// Returns where the path that begins with the edge from From to To leads
/// within a few blocks: out of L, or to L's next iteration.
static Way follow(const Loop &L, BasicBlock *From, BasicBlock *To,
                  KnownValues Known) {
  // Follows at most four blocks: the ends of two small functions, one inlined
  // into the other.
  for (unsigned Blocks = 0; Blocks != 4; ++Blocks) {
    if (!L.contains(To))
      return Way::Out;
    if (To == L.getHeader())
      return Way::Iteration;
    enter(Known, From, To);
    BasicBlock *Next = nextOn(Known, To);
    if (!Next)
      return Way::Unclear;
    From = std::exchange(To, Next);
  }
  return Way::Unclear;
}

Way wayOfSuccess(const Loop &L, const AtomicCmpXchgInst &Exchange) {
  std::optional<Way> Where;
  auto Follow = [&](const Value *Flag, bool IfSuccess) {
    Constant *Known = ConstantInt::getBool(Flag->getContext(), IfSuccess);
    for (const User *U : Flag->users())
      if (auto *Br = const_cast<BranchInst *>(dyn_cast<BranchInst>(U))) {
        Way There =
            follow(L, Br->getParent(), Br->getSuccessor(IfSuccess ? 0 : 1),
                   {{Flag, Known}});
        Where = !Where || *Where == There ? There : Way::Unclear;
      }
  };
  for (const User *U : Exchange.users()) {
    auto *Success = dyn_cast<ExtractValueInst>(U);
    if (!Success || Success->getIndices()[0] != 1)
      continue;
    Follow(Success, true);
    for (const User *V : Success->users())
      if (match(V, m_Not(m_Value())))
        Follow(V, false);
  }
  return Where.value_or(Way::Unclear);
}

Way wayOfSuccess(const Loop &L, const CallBase &Try) {
  const Function *Callee = Try.getCalledFunction();
  StringRef Name = Callee ? Callee->getName() : "";
  bool ReturnsZero = Name.starts_with("pthread_") || Name.starts_with("sem_") ||
                     Name.starts_with("mtx_");
  if (!ReturnsZero || classifyCall(Try).Effect != CallEffect::TryLock ||
      !Try.getType()->isIntegerTy())
    return Way::Unclear;
  KnownValues Known{{&Try, ConstantInt::get(Try.getType(), 0)}};
  auto *B = const_cast<BasicBlock *>(Try.getParent());
  BasicBlock *Next = nextOn(Known, B);
  return Next ? follow(L, B, Next, Known) : Way::Unclear;
}

} // namespace vfriendly
