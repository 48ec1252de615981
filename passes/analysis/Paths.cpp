//===- Paths.cpp - Paths through a loop -----------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LoopView.h"
#include "passes/common/WaitNeutral.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

bool everyIterationPasses(const Loop &L,
                          const SmallPtrSetImpl<BasicBlock *> &Blocks,
                          EdgeTest Ends) {
  SmallVector<BasicBlock *, 8> Worklist{L.getHeader()};
  SmallPtrSet<BasicBlock *, 8> Seen;
  while (!Worklist.empty()) {
    BasicBlock *B = Worklist.pop_back_val();
    if (Blocks.contains(B) || !Seen.insert(B).second)
      continue;
    for (BasicBlock *Next : successors(B)) {
      if (Ends && Ends(B, Next))
        continue;
      if (Next == L.getHeader())
        return false;
      if (L.contains(Next))
        Worklist.push_back(Next);
    }
  }
  return true;
}

/// Returns the constant to which V evaluates if Known is Is; null if V is not
/// constant then.
static Constant *valueIf(const Value &Known, Constant &Is, Value *V,
                         const DataLayout &DL, unsigned Depth = 0) {
  if (V == &Known)
    return &Is;
  if (auto *C = dyn_cast<Constant>(V))
    return C;
  // Follows operands two levels deep: a result is compared, and the comparison
  // may be negated.
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !isa<ICmpInst, BinaryOperator>(I) || Depth == 2)
    return nullptr;
  Constant *Left = valueIf(Known, Is, I->getOperand(0), DL, Depth + 1),
           *Right = valueIf(Known, Is, I->getOperand(1), DL, Depth + 1);
  return Left && Right ? ConstantFoldInstOperands(I, {Left, Right}, DL)
                       : nullptr;
}

/// Returns where the branch at the end of B leads, within a few blocks, if
/// Known is Is.
static Way wayFrom(const Loop &L, const BasicBlock &B, const Value &Known,
                   Constant &Is) {
  auto *Br = dyn_cast<BranchInst>(B.getTerminator());
  auto *Switch = dyn_cast<SwitchInst>(B.getTerminator());
  if (!Switch && !(Br && Br->isConditional()))
    return Way::Unclear;
  auto *Decides = dyn_cast_or_null<ConstantInt>(
      valueIf(Known, Is, Br ? Br->getCondition() : Switch->getCondition(),
              B.getDataLayout()));
  if (!Decides)
    return Way::Unclear;
  const BasicBlock *To =
      Br ? Br->getSuccessor(Decides->isOne() ? 0 : 1)
         : Switch->findCaseValue(Decides)->getCaseSuccessor();
  // Follows at most four blocks: the ends of two small functions, one inlined
  // into the other.
  for (unsigned Blocks = 0; To && Blocks != 4; ++Blocks) {
    if (!L.contains(To))
      return Way::Out;
    if (To == L.getHeader())
      return Way::Iteration;
    To = To->getSingleSuccessor();
  }
  return Way::Unclear;
}

Way wayOfSuccess(const Loop &L, const AtomicCmpXchgInst &Exchange) {
  std::optional<Way> Where;
  for (const User *U : Exchange.users()) {
    auto *Success = dyn_cast<ExtractValueInst>(U);
    if (!Success || Success->getIndices()[0] != 1)
      continue;
    SmallVector<const User *, 4> Users(Success->users());
    for (const User *V : Success->users())
      if (match(V, m_Not(m_Value())))
        append_range(Users, V->users());
    for (const User *V : Users)
      if (auto *Br = dyn_cast<BranchInst>(V)) {
        Way There = wayFrom(L, *Br->getParent(), *Success,
                            *ConstantInt::getTrue(Br->getContext()));
        Where = !Where || *Where == There ? There : Way::Unclear;
      }
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
  return wayFrom(L, *Try.getParent(), Try, *ConstantInt::get(Try.getType(), 0));
}

} // namespace vfriendly
