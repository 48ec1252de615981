//===- SplitPolls.cpp - Separate polling from working iterations ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/prepare/SplitPolls.h"

#include "passes/analysis/common/KeepMarks.h"
#include "passes/analysis/common/SmallBound.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/BoundedSpin.h"
#include "passes/analysis/waits/Causes.h"
#include "passes/analysis/waits/LoopView.h"
#include "passes/analysis/waits/SpinLoopAnalysis.h"
#include "passes/common/LLVMVersions.h"
#include "passes/prepare/CopyBody.h"
#include "passes/prepare/KnownWays.h"
#include "passes/prepare/PollingPaths.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Maximum number of loops of a function for which a split is tried: each trial
/// copies the function.
static constexpr unsigned MaxTrials = 8;

/// Gives the latches of the inner loop a loop ID of their own, with the
/// location and attributes of the loop that was split.
static void separateLoopID(ArrayRef<BasicBlock *> Latches, MDNode *Whole) {
  if (!Whole)
    return;
  SmallVector<Metadata *, 4> Operands(Whole->op_begin(), Whole->op_end());
  MDNode *Own = MDNode::getDistinct(Whole->getContext(), Operands);
  Own->replaceOperandWith(0, Own);
  for (BasicBlock *Latch : Latches)
    Latch->getTerminator()->setMetadata(LLVMContext::MD_loop, Own);
}

/// Freezes the divisors of tests like `n % k == 0`, so that planBoundedWait may
/// divide by them before the loop. If one is poison, the loop as written has
/// undefined behavior where it divides.
static void freezeDivisors(const Split &Plan) {
  for (BasicBlock *B : Plan.Polling)
    for (Instruction &I : *B) {
      Value *Divisor;
      if (!match(&I, m_CombineOr(m_URem(m_Value(), m_Value(Divisor)),
                                 m_SRem(m_Value(), m_Value(Divisor)))) ||
          isa<Constant>(Divisor))
        continue;
      auto *Defined = dyn_cast<Instruction>(Divisor);
      if (Defined && Plan.Polling.contains(Defined->getParent()))
        continue;
      BasicBlock::iterator At =
          B->getParent()->getEntryBlock().getFirstInsertionPt();
      if (Defined) {
        auto After = Defined->getInsertionPointAfterDef();
        if (!After)
          continue;
        At = *After;
      }
      I.setOperand(1, new FreezeInst(Divisor, Divisor->getName() + ".fr", At));
    }
}

/// Removes the phis of B that pass on a single value, so that ScalarEvolution
/// sees that the polling iterations do not change it.
static void foldPhis(BasicBlock &B) {
  for (PHINode &Phi : make_early_inc_range(B.phis()))
    if (Value *Only = Phi.hasConstantValue(); Only && Only != &Phi) {
      Phi.replaceAllUsesWith(Only);
      Phi.eraseFromParent();
    }
}

/// Executes the plan. LoopID is the ID of the loop, or null. Invalidates F's
/// analyses.
static void apply(const Split &Plan, MDNode *LoopID) {
  Function &F = *Plan.Header->getParent();
  freezeDivisors(Plan);
  ValueToValueMapTy Copies;
  SmallVector<BasicBlock *, 8> NewBlocks;
  for (BasicBlock *B : Plan.Shared) {
    BasicBlock *Copy = CloneBasicBlock(B, Copies, ".vf.poll", &F);
    Copies[B] = Copy;
    NewBlocks.push_back(Copy);
  }
  remapInstructionsInBlocks(NewBlocks, Copies);
  auto IsPollingOnly = [&](BasicBlock *B) {
    return Plan.Polling.contains(B) && !Plan.Shared.contains(B);
  };
  for (BasicBlock *B : Plan.Shared) {
    auto *Copy = cast<BasicBlock>(Copies[B]);
    // Each predecessor of B now leads to either B or Copy: a predecessor that
    // is on polling paths only leads to Copy, all others lead to B.
    for (PHINode &Phi : make_early_inc_range(B->phis())) {
      auto *CopyPhi = cast<PHINode>(Copies[&Phi]);
      for (unsigned I = Phi.getNumIncomingValues(); I-- > 0;)
        if (IsPollingOnly(Phi.getIncomingBlock(I)))
          Phi.removeIncomingValue(I, /*DeletePHIIfEmpty=*/false);
      for (unsigned I = CopyPhi->getNumIncomingValues(); I-- > 0;) {
        BasicBlock *From = CopyPhi->getIncomingBlock(I);
        if (!IsPollingOnly(From) && !is_contained(NewBlocks, From))
          CopyPhi->removeIncomingValue(I, /*DeletePHIIfEmpty=*/false);
      }
    }
    // Adds the copy as a predecessor to the phis of the successors that have no
    // copy.
    for (BasicBlock *Next : successors(B))
      if (!Plan.Shared.contains(Next))
        for (PHINode &Phi : Next->phis()) {
          Value *In = Phi.getIncomingValueForBlock(B);
          Value *Mapped = Copies.lookup(In);
          Phi.addIncoming(Mapped ? Mapped : In, Copy);
        }
  }
  for (BasicBlock *B : Plan.Polling)
    if (IsPollingOnly(B))
      for (BasicBlock *Shared : Plan.Shared)
        B->getTerminator()->replaceSuccessorWith(
            Shared, cast<BasicBlock>(Copies[Shared]));
  for (BasicBlock *B : Plan.Shared)
    for (Instruction &I : *B)
      if (Value *Copy = Copies.lookup(&I))
        joinValues(I, *Copy, *cast<BasicBlock>(Copies[B]));

  SmallVector<BasicBlock *, 4> Latches, Others;
  for (BasicBlock *B : predecessors(Plan.Header)) {
    bool Polls = IsPollingOnly(B) || is_contained(NewBlocks, B);
    auto &Side = Polls ? Latches : Others;
    if (!is_contained(Side, B))
      Side.push_back(B);
  }
  SplitBlockPredecessors(Plan.Header, Others, ".vf.work");
  // Removes the loop ID that SplitBlockPredecessors may have moved to the
  // branch of the new block, which is not a latch.
  if (BasicBlock *Outer = Plan.Header->getSinglePredecessor())
    Outer->getTerminator()->setMetadata(LLVMContext::MD_loop, nullptr);
  separateLoopID(Latches, LoopID);
  for (BasicBlock *B : Latches)
    foldPhis(*B);
  foldPhis(*Plan.Header);
}

/// Returns true if only memory that the program marks as shared decides when L,
/// split off from the loop around it, is left for work. If a counter does, the
/// work is a part of the wait that is done rarely, such as a message; if plain
/// memory does, the work may prepare its own next step there.
static bool othersGiveWork(const Loop &L, const DominatorTree &DT,
                           VariableFacts &Variables) {
  const Loop *Outer = L.getParentLoop();
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  CauseCollector Collector(L, DT, Variables);
  return none_of(Exiting, [&](BasicBlock *B) {
    if (none_of(successors(B), [&](BasicBlock *S) {
          return !L.contains(S) && Outer && Outer->contains(S);
        }))
      return false;
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    if (!Br)
      return true;
    Causes C = Collector.collect(Br->getCondition());
    return !waitsForOthers(C.kinds()) ||
           none_of(C.Polls,
                   [](const Instruction *I) { return isMarkedAccess(*I); });
  });
}

/// Returns the words by which the exits of L that Leaves accepts are polled.
static SmallSetVector<Cell, 4>
wordsOfExits(const Loop &L, const DominatorTree &DT, VariableFacts &Variables,
             function_ref<bool(const BasicBlock *To)> Leaves) {
  const DataLayout &DL = L.getHeader()->getDataLayout();
  CauseCollector Collector(L, DT, Variables);
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  SmallSetVector<Cell, 4> Words;
  for (BasicBlock *B : Exiting) {
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    auto *Switch = dyn_cast<SwitchInst>(B->getTerminator());
    Value *Condition = Switch                      ? Switch->getCondition()
                       : Br && Br->isConditional() ? Br->getCondition()
                                                   : nullptr;
    if (Condition && any_of(successors(B), Leaves))
      for (const Instruction *I : Collector.collect(Condition).Polls)
        if (!isa<CallBase>(I))
          Words.insert(cellOf(I->getOperand(0), DL));
  }
  return Words;
}

/// Returns true if the loop around L, from which L is split off, ends by words,
/// and L is left for work by others: such a loop serves a queue until it is
/// told to stop, and does not wait for the queue to have something.
static bool onlyFindsWork(const Loop &L, const DominatorTree &DT,
                          VariableFacts &Variables) {
  const Loop *Outer = L.getParentLoop();
  if (!Outer)
    return false;
  auto FindsWork = [&](const BasicBlock *To) {
    return Outer->contains(To) && !L.contains(To);
  };
  SmallSetVector<Cell, 4> Work = wordsOfExits(L, DT, Variables, FindsWork);
  SmallSetVector<Cell, 4> Ends =
      wordsOfExits(*Outer, DT, Variables,
                   [&](const BasicBlock *To) { return !Outer->contains(To); });
  return !Ends.empty() &&
         none_of(Work, [&](const Cell &Word) { return Ends.contains(Word); });
}

/// Returns true if a counter or a clock, after which the loop works rarely, is
/// the limit of a wait that the runtime can take over or, for a report, of one
/// that yields.
static bool isLimited(const SpinLoop &S, Function &F, LoopInfo &LI,
                      DominatorTree &DT, SplitFor Use) {
  // The loop as written may have counted already when it gets here: a small
  // limit stays small.
  if (S.Bound && S.Bound <= SmallSlowBound)
    return false;
  TargetLibraryInfoImpl Library(Triple(F.getParent()->getTargetTriple()));
  TargetLibraryInfo TLI(Library, &F);
  AssumptionCache AC(F);
  ScalarEvolution SE(F, TLI, AC, DT, LI);
  BoundedWait Limited = planBoundedWait(S, SE, LI, DT);
  return Limited.Why.empty() || (Use == SplitFor::Report && S.Yields &&
                                 (Limited.Plan || S.ByClock || S.AlwaysHints));
}

/// Returns true if the loop at Header is a wait that is unbounded, is limited
/// for the sake of rare work, or gives a hint: without a hint or rare work, a
/// count that goes on while the loop works is more likely one of attempts. The
/// runtime must be able to keep the limit, unless nobody would otherwise hear
/// of the wait (!IsReported). The loop must be proved to be a wait, but for
/// functions that give hints by their names: other probable waits are only
/// reported, so splitting them would be of no use.
static bool isWait(Function &F, const BasicBlock *Header, bool HasRare,
                   VariableFacts &Variables, SplitFor Use, bool IsReported) {
  DominatorTree DT(F);
  LoopInfo LI(DT);
  Loop *L = LI.getLoopFor(Header);
  if (!L)
    return false;
  SpinLoopInfo Info = findSpinLoops(L->getLoopsInPreorder(), LI, DT, Variables);
  auto IsPlain = [](const Poll &P) { return P.isPlain() && !P.OnlyLocates; };
  return any_of(Info.Loops, [&](const SpinLoop &S) {
    if (S.L->getHeader() != Header || S.Gated || S.Sleeps ||
        (!S.Doubt.empty() && !S.DoubtsHints) || S.Kind == SpinKind::Retry ||
        S.Kind == SpinKind::Device)
      return false;
    if (none_of(S.Polls, IsPlain) &&
        (S.Bounded
             ? HasRare &&
                   ((!IsReported && S.hints()) || isLimited(S, F, LI, DT, Use))
             : HasRare || S.hints() || !onlyFindsWork(*S.L, DT, Variables)))
      return true;
    return S.hints() && othersGiveWork(*S.L, DT, Variables);
  });
}

/// Returns true if the polling paths, split off in a copy of F, are proved to
/// be a wait.
static bool isWorthIt(const Split &Plan, VariableFacts &Variables, SplitFor Use,
                      bool IsReported) {
  Function &F = *Plan.Header->getParent();
  ValueToValueMapTy Map;
  Function *Copy = copyWithBody(F, ".vf.trial", Map);
  auto CopyOf = [&](BasicBlock *B) { return cast<BasicBlock>(Map[B]); };
  Split Same{CopyOf(Plan.Header), Plan.HasRare, {}, {}};
  for (BasicBlock *B : Plan.Polling)
    Same.Polling.insert(CopyOf(B));
  for (BasicBlock *B : Plan.Shared)
    Same.Shared.insert(CopyOf(B));
  apply(Same, nullptr);
  bool Result =
      isWait(*Copy, Same.Header, Same.HasRare, Variables, Use, IsReported);
  Copy->eraseFromParent();
  return Result;
}

/// Whether F's loop at Header waits if it is not split. One that sleeps in rare
/// iterations is not proved: the polls in between are the wait. If only the
/// name of a function tells that it sleeps, another name would tell nothing.
enum class Whole { Works, MayWait, Waits };
static Whole asWhole(Function &F, FunctionAnalysisManager &FAM,
                     const Split &Plan, VariableFacts &Variables) {
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  SpinLoopInfo Info =
      findSpinLoops(LI.getLoopFor(Plan.Header)->getLoopsInPreorder(), LI,
                    FAM.getResult<DominatorTreeAnalysis>(F), Variables);
  auto *Found = find_if(Info.Loops, [&](const SpinLoop &S) {
    return S.L->getHeader() == Plan.Header;
  });
  if (Found == Info.Loops.end() ||
      (Plan.HasRare && Found->Sleeps && Found->DoubtsHints))
    return Whole::Works;
  return Found->Doubt.empty() && !(Found->Sleeps && Plan.HasRare)
             ? Whole::Waits
             : Whole::MayWait;
}

bool splitPolls(Function &F, FunctionAnalysisManager &FAM,
                VariableFacts &Variables, SplitFor Use) {
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  auto PlanFor = [&](Loop &L) {
    Surroundings Around(FAM.getResult<LoopAnalysis>(F),
                        FAM.getResult<DominatorTreeAnalysis>(F), Variables);
    return planSplit(L, Around);
  };
  SmallVector<std::pair<BasicBlock *, MDNode *>, 4> Worth;
  unsigned Trials = 0;
  for (Loop *L : LI.getLoopsInPreorder()) {
    std::optional<Split> Plan = PlanFor(*L);
    if (!Plan || isMarked(*L, KeepMark))
      continue;
    Whole As = asWhole(F, FAM, *Plan, Variables);
    if (As == Whole::Waits || Trials++ >= MaxTrials ||
        !isWorthIt(*Plan, Variables, Use, As == Whole::MayWait))
      continue;
    Worth.push_back({L->getHeader(), loopIDOf(*L)});
  }
  bool Changed = false;
  for (auto [Header, LoopID] : Worth) {
    // Plans again: an earlier split may have changed the blocks of this loop.
    Loop *L = FAM.getResult<LoopAnalysis>(F).getLoopFor(Header);
    std::optional<Split> Plan;
    if (L && L->getHeader() == Header)
      Plan = PlanFor(*L);
    if (!Plan)
      continue;
    apply(*Plan, LoopID);
    Changed = true;
    FAM.invalidate(F, PreservedAnalyses::none());
    // Marks the outer loop, so that it is not also reported as a doubtful wait,
    // or as one that sleeps: the inner loop is reported as a wait.
    Loop *Inner = FAM.getResult<LoopAnalysis>(F).getLoopFor(Header);
    if (Loop *Outer = Inner ? Inner->getParentLoop() : nullptr)
      mark(*Outer, Plan->HasRare ? DecidedMark : DoubtMark);
  }
  return Changed;
}

} // namespace vfriendly
