//===- LoopOwnership.cpp - Points where a loop owns its block -------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/heap/LoopOwnership.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace vfriendly {

static Owned merge(Owned Left, Owned Right) {
  if (Left == Owned::Unreachable || Left == Right)
    return Right;
  return Right == Owned::Unreachable ? Left : Owned::Maybe;
}

LoopOwnership::LoopOwnership(const Allocation &A, const Loop &L,
                             const DominatorTree &DT)
    : A(A), L(L), DT(DT) {
  Events[A.Call->getParent()].push_back(A.Call);
  for (const CallBase *Free : A.Frees)
    Events[Free->getParent()].push_back(Free);
  for (auto &[Block, InIt] : Events)
    llvm::sort(InIt, [](const Instruction *Left, const Instruction *Right) {
      return Left != Right && Left->comesBefore(Right);
    });
  In[L.getHeader()] = Owned::No;
  Worklist.push_back(L.getHeader());
  while (!Worklist.empty())
    flow(*Worklist.pop_back_val());
}

Owned LoopOwnership::passed(const Instruction *Event, Owned State) const {
  if (Event == A.Call)
    return Owned::Yes;
  return State == Owned::Unreachable ? State : Owned::No;
}

Owned LoopOwnership::before(const Instruction &I) const {
  Owned State = In.lookup(I.getParent());
  if (auto Found = Events.find(I.getParent()); Found != Events.end())
    for (const Instruction *Event : Found->second)
      if (Event->comesBefore(&I))
        State = passed(Event, State);
  return State;
}

static bool isSameInAllIterations(const Value &Condition, const Loop &L) {
  if (L.isLoopInvariant(&Condition))
    return true;
  auto *Compare = dyn_cast<CmpInst>(&Condition);
  return Compare && L.hasLoopInvariantOperands(Compare);
}

/// Returns true if an iteration that takes the edge from From to To owns no
/// memory of A afterwards.
bool LoopOwnership::isUnreachableBy(const BasicBlock &From,
                                    const BasicBlock &To) const {
  const Instruction *End = From.getTerminator();
  // On the unwind edge of the invoke that allocates, the allocation has failed,
  // and the rewritten code has freed the kept buffer.
  if (auto *Invoke = dyn_cast<InvokeInst>(A.Call);
      Invoke == End && Invoke->getUnwindDest() == &To)
    return true;
  auto *Branch = dyn_cast<BranchInst>(End);
  if (!Branch || !Branch->isConditional() ||
      Branch->getSuccessor(0) == Branch->getSuccessor(1))
    return false;
  // If the branch takes the same edge in all iterations, and its other edge
  // dominates the allocation of A, no iteration that takes the edge to To
  // allocates.
  bool IsFirst = Branch->getSuccessor(0) == &To;
  if (isSameInAllIterations(*Branch->getCondition(), L))
    return DT.dominates(BasicBlockEdge(&From, Branch->getSuccessor(IsFirst)),
                        A.Call->getParent());
  auto *Test = dyn_cast<ICmpInst>(Branch->getCondition());
  return Test && is_contained(A.Tests, Test) &&
         IsFirst == (Test->getPredicate() == ICmpInst::ICMP_EQ);
}

Owned LoopOwnership::behind(const BasicBlock &B) const {
  Owned State = In.lookup(&B);
  if (auto Found = Events.find(&B); Found != Events.end())
    for (const Instruction *Event : Found->second)
      State = passed(Event, State);
  return State;
}

Owned LoopOwnership::between(const BasicBlock &From,
                             const BasicBlock &To) const {
  return isUnreachableBy(From, To) ? Owned::Unreachable : behind(From);
}

void LoopOwnership::flow(const BasicBlock &B) {
  for (const BasicBlock *To : successors(&B)) {
    // Does not follow the back edge: each iteration begins without a block.
    if (To == L.getHeader())
      continue;
    Owned Added = between(B, *To);
    auto [There, IsNew] = In.try_emplace(To, Owned::Unreachable);
    Owned Merged = merge(There->second, Added);
    if (!IsNew && Merged == There->second)
      continue;
    There->second = Merged;
    if (L.contains(To))
      Worklist.push_back(To);
  }
}

} // namespace vfriendly
