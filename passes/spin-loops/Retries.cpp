//===- Retries.cpp - Lock-free updates that only look like waits ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop around a compare-and-exchange is a lock-free update, which was overtaken
// and may succeed at once, or a wait for who holds a lock. What it expects tells
// them apart: what was just read there, or what only others can bring about.
//
//===----------------------------------------------------------------------===//

#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/LoopJudge.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// What waits inside for a word to be free, and then takes that word, waits as
/// a whole, though it may be overtaken: `do { while ((v = lock) & 1); } while
/// (!exchange(&lock, v, v | 1))`. With more to be seen than that word it is an
/// update that finds room first.
bool LoopJudge::takesWhatItWaitedFor() const {
  if (any_of(Waiting,
             [&](const ExitLeaf &E) { return isVersionCheck(E.Condition); }))
    return false;
  const DataLayout &DL = L.getHeader()->getDataLayout();
  auto PlaceOf = [&](const Value *Address) {
    APInt Offset(DL.getIndexTypeSizeInBits(Address->getType()), 0);
    const Value *Base = Address->stripAndAccumulateConstantOffsets(
        DL, Offset, /*AllowNonInbounds=*/true);
    return std::pair(Base, Offset.getSExtValue());
  };
  auto IsTaken = [&](const Value *Address) {
    return any_of(L.blocks(), [&](const BasicBlock *B) {
      return any_of(*B, [&](const Instruction &I) {
        if (auto *Call = dyn_cast<CallBase>(&I)) {
          CallClass Class = classifyCall(*Call);
          return Class.Effect == CallEffect::AsmTry &&
                 PlaceOf(Class.Address) == PlaceOf(Address);
        }
        return isa<AtomicCmpXchgInst, AtomicRMWInst>(I) &&
               PlaceOf(I.getOperand(0)) == PlaceOf(Address);
      });
    });
  };
  return any_of(Inner.Loops, [&](const SpinLoop &S) {
    return S.L != &L && L.contains(S.L) && !S.Bounded &&
           S.Kind != SpinKind::Retry && all_of(S.Polls, [&](const Poll &P) {
             return P.OnlyLocates || (P.Address && IsTaken(P.Address));
           });
  });
}

/// Assembly that compares and exchanges, and does not exchange alone.
static bool comparesAssembly(const CallBase &Call) {
  auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand());
  return Asm && StringRef(Asm->getAsmString()).contains("cmpxchg");
}

/// Is the constant that it expects what the same round has just read there, as
/// in `if (head == NONE && compare_exchange(&head, NONE, 0)) break;`? A try on
/// a lock looks the same, but has another way round, while the lock is held.
bool LoopJudge::expectsWhatWasRead(const AtomicCmpXchgInst &Exchange) const {
  const Value *Expected = Exchange.getCompareOperand();
  auto ReadsSamePlace = [&](const Value *V) {
    while (isa<CastInst, FreezeInst>(V))
      V = cast<Instruction>(V)->getOperand(0);
    auto *Load = dyn_cast<LoadInst>(V);
    return Load && Load->getPointerOperand() == Exchange.getPointerOperand();
  };
  for (BasicBlock *D : L.blocks()) {
    auto *Br = dyn_cast<BranchInst>(D->getTerminator());
    if (!isa<ConstantInt>(Expected) || !Br || !Br->isConditional() ||
        LI.getLoopFor(D) != &L)
      continue;
    auto *Compare = dyn_cast<ICmpInst>(Br->getCondition());
    if (!Compare || !Compare->isEquality() ||
        Compare->getOperand(1) != Expected ||
        !ReadsSamePlace(Compare->getOperand(0)))
      continue;
    bool IfTrue = Compare->getPredicate() == ICmpInst::ICMP_EQ;
    if (DT.dominates(BasicBlockEdge(D, Br->getSuccessor(IfTrue ? 0 : 1)),
                     Exchange.getParent()))
      return true;
  }
  return false;
}

/// A lock-free update: every way round the loop goes through a compare-and-
/// exchange that expects what was just read, so it can succeed at once; or
/// through a comparison of two reads of one version number.
bool LoopJudge::retriesOnly() {
  if (takesWhatItWaitedFor())
    return false;

  SmallPtrSet<BasicBlock *, 4> Retries;
  // Expected as it was read; with bits cleared, others must clear them first.
  auto IsPolledOrOwn = [&](Value *V) {
    while (isa<CastInst, FreezeInst>(V))
      V = cast<Instruction>(V)->getOperand(0);
    if (match(V, m_And(m_Value(), m_ImmConstant())))
      return false;
    Causes C = Collector.collect(V);
    return !C.Polls.empty() || C.Own;
  };
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B) {
      if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
        if (IsPolledOrOwn(Exchange->getCompareOperand()) ||
            expectsWhatWasRead(*Exchange))
          Retries.insert(B);
      } else if (auto *Call = dyn_cast<CallBase>(&I)) {
        // Which operand of assembly is compared with does not always show: any
        // but the memory itself.
        auto MayBeExpected = [&](const Use &Arg) {
          unsigned Number = Call->getArgOperandNo(&Arg);
          return !Call->getParamElementType(Number) &&
                 (!Arg->getType()->isPointerTy() || comparesAssembly(*Call));
        };
        if (classifyCall(*Call).Effect == CallEffect::AsmTry &&
            any_of(Call->args(), [&](const Use &Arg) {
              return MayBeExpected(Arg) && IsPolledOrOwn(Arg);
            }))
          Retries.insert(B);
      }
    }
  for (const ExitLeaf &Leaf : Waiting)
    // Not where the version is also seen to be odd: that is a wait.
    if (isa<ICmpInst>(Leaf.Condition) && endsUnchanged(Leaf))
      for (BasicBlock *B : L.blocks())
        if (auto *Br = dyn_cast<BranchInst>(B->getTerminator()))
          if (Br->isConditional() && Br->getCondition() == Leaf.Condition)
            Retries.insert(B);
  return everyRoundPasses(Retries);
}

} // namespace vfriendly
