//===- SplitPolls.cpp - Separate polling from working iterations ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/SplitPolls.h"

#include "passes/analysis/LoopView.h"
#include "passes/common/KeepMarks.h"
#include "passes/common/LLVMVersions.h"
#include "passes/common/RuntimeCalls.h"
#include "passes/common/SmallBound.h"
#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/BoundedSpin.h"
#include "passes/spin-loops/KnownWays.h"
#include "passes/spin-loops/SpinLoopAnalysis.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

namespace {

/// Maximum number of blocks on the polling paths of one loop. A poll of several
/// words has about ten after inlining.
constexpr unsigned MaxPollingBlocks = 32;

/// Maximum number of blocks of a loop in which rare branches are looked for. A
/// wait with one has about ten.
constexpr unsigned MaxBlocksWithRare = 64;

/// Maximum number of loops of a function for which a split is tried: each trial
/// copies the function.
constexpr unsigned MaxTrials = 8;

using Blocks = SmallPtrSet<const BasicBlock *, 8>;

/// How one loop is split.
struct Split {
  BasicBlock *Header;
  /// True if a counter or a clock ends the polling of some iterations.
  bool HasRare = false;
  /// The blocks on those paths from the header back to the header that have no
  /// effects.
  SmallSetVector<BasicBlock *, 8> Polling;
  /// The polling blocks that working iterations pass too. The polling paths get
  /// copies of them.
  SmallSetVector<BasicBlock *, 8> Shared;
};

} // namespace

/// Returns the blocks of L that are reached from Start, without Start itself,
/// forwards or backwards through blocks that pass Filter.
template <typename NextFn, typename FilterFn>
static SmallSetVector<BasicBlock *, 16> reached(const Loop &L,
                                                ArrayRef<BasicBlock *> Start,
                                                NextFn Next, FilterFn Filter) {
  SmallSetVector<BasicBlock *, 16> Seen;
  SmallVector<BasicBlock *, 16> Worklist(Start);
  while (!Worklist.empty())
    for (BasicBlock *B : Next(Worklist.pop_back_val()))
      if (B != L.getHeader() && L.contains(B) && Filter(B) && Seen.insert(B))
        Worklist.push_back(B);
  return Seen;
}

/// Returns true if the block polls memory that the program marks as shared. A
/// path without such a block is not taken for a poll, because loops that do
/// work often have paths that only read plain memory.
static bool pollsMarkedMemory(const BasicBlock &B) {
  return any_of(B, isMarkedAccess);
}

/// Returns true if I does more than poll, in a branch that few iterations take.
/// A sleep between all polls is a part of the polling.
static bool worksRarely(const Instruction &I, const Loop &L,
                        const LoopInfo &LI) {
  auto *Call = dyn_cast<CallBase>(&I);
  if (Call && calls(*Call, WaitFunction)) // In each iteration but the first.
    return false;
  return mayHaveEffect(I, L, LI) ||
         (Call && classifyCall(*Call).Effect == CallEffect::Sleep);
}

/// Returns the blocks of L that run in rare iterations only: those on the side
/// of a branch on a counter or a clock on which there is work, if there is none
/// on the other side.
static Blocks findRareBlocks(Loop &L, Surroundings &Around) {
  Blocks Working, Rare;
  if (L.getNumBlocks() > MaxBlocksWithRare)
    return Rare;
  for (BasicBlock *B : L.blocks())
    if (any_of(*B, [&](const Instruction &I) {
          return worksRarely(I, L, Around.LI);
        }))
      Working.insert(B);
  LoopView In(L, Around);
  for (BasicBlock *D : L.blocks()) {
    auto *Br = dyn_cast<BranchInst>(D->getTerminator());
    if (Working.empty() || !Br || !Br->isConditional() ||
        In.LI.getLoopFor(D) != &L || !L.contains(Br->getSuccessor(0)) ||
        !L.contains(Br->getSuccessor(1)) ||
        Br->getSuccessor(0) == Br->getSuccessor(1))
      continue;
    SmallSetVector<const BasicBlock *, 8> Sides[2];
    for (BasicBlock *B : L.blocks())
      for (unsigned Side : {0, 1})
        if (In.DT.dominates(BasicBlockEdge(D, Br->getSuccessor(Side)), B))
          Sides[Side].insert(B);
    auto Works = [&](const BasicBlock *B) { return Working.contains(B); };
    bool First = any_of(Sides[0], Works);
    if (First == any_of(Sides[1], Works))
      continue;
    const auto &Side = Sides[First ? 0 : 1];
    // How often other threads let the branch be taken is not known, unless they
    // are asked in rare iterations only. Plain memory, such as a limit that can
    // be configured, is seldom written.
    Causes C = In.Causes.collect(Br->getCondition());
    if ((C.kinds() & (Own | Clock)) && !(C.kinds() & Walks) &&
        none_of(C.Polls, [&](const Instruction *I) {
          return isMarkedAccess(*I) && !Side.contains(I->getParent());
        }))
      insertRange(Rare, Side);
  }
  return Rare;
}

/// Returns true if Polling passes an inner loop only by skipping its body,
/// which the first iteration cannot: in `for (int i = 0; i < 1000; i++)
/// work();` the header is left without work, but only after 1,000 iterations
/// with work.
static bool skipsConstantLoop(const Loop &L,
                              const SmallSetVector<BasicBlock *, 8> &Polling) {
  return any_of(L.getSubLoops(), [&](const Loop *Inner) {
    BasicBlock *Header = Inner->getHeader();
    auto *Br = dyn_cast<BranchInst>(Header->getTerminator());
    auto *Compare = Br && Br->isConditional()
                        ? dyn_cast<ICmpInst>(Br->getCondition())
                        : nullptr;
    if (!Compare || !Polling.contains(Header) ||
        any_of(predecessors(Header), [&](BasicBlock *B) {
          return Inner->contains(B) && Polling.contains(B);
        }))
      return false;
    // Returns the constant that V is in the first iteration; null if it is
    // none.
    auto AtFirst = [&](Value *V) -> Constant * {
      auto *Phi = dyn_cast<PHINode>(V);
      BasicBlock *Before = Inner->getLoopPredecessor();
      if (Phi && Phi->getParent() == Header && Before)
        V = Phi->getIncomingValueForBlock(Before);
      return dyn_cast<Constant>(V);
    };
    Constant *Left = AtFirst(Compare->getOperand(0)),
             *Right = AtFirst(Compare->getOperand(1));
    auto *Is = dyn_cast_or_null<ConstantInt>(
        Left && Right
            ? ConstantFoldCompareInstOperands(Compare->getPredicate(), Left,
                                              Right, Header->getDataLayout())
            : nullptr);
    return Is && Inner->contains(Br->getSuccessor(Is->isOne() ? 0 : 1));
  });
}

/// Returns how L can be split; std::nullopt if it cannot, for example because
/// it has no path without effects, or no other path.
static std::optional<Split> planSplit(Loop &L, Surroundings &Around) {
  const LoopInfo &LI = Around.LI;
  BasicBlock *Header = L.getHeader();
  if (none_of(L.blocks(),
              [](const BasicBlock *B) { return pollsMarkedMemory(*B); }))
    return std::nullopt;
  Blocks Rare = findRareBlocks(L, Around);
  DenseMap<const BasicBlock *, bool> Cleanness;
  auto IsClean = [&](const BasicBlock *B) {
    auto [It, New] = Cleanness.try_emplace(B);
    if (New)
      It->second = !Rare.contains(B) && none_of(*B, [&](const Instruction &I) {
        return mayHaveEffect(I, L, LI);
      });
    return It->second;
  };
  if (!IsClean(Header))
    return std::nullopt;
  auto Successors = [](BasicBlock *B) { return successors(B); };
  auto Predecessors = [](BasicBlock *B) { return predecessors(B); };
  auto Forwards = reached(L, Header, Successors, IsClean);
  auto Backwards = reached(L, Header, Predecessors, IsClean);

  Split Plan{Header, false, {}, {}};
  Plan.Polling.insert(Header);
  for (BasicBlock *B : Forwards)
    if (Backwards.contains(B))
      Plan.Polling.insert(B);
  for (const BasicBlock *B : Plan.Polling)
    Plan.HasRare |= any_of(successors(B), [&](const BasicBlock *Next) {
      return Rare.contains(Next);
    });
  bool HasPath = any_of(predecessors(Header), [&](BasicBlock *B) {
    return Plan.Polling.contains(B);
  });
  if (!HasPath || Plan.Polling.size() > MaxPollingBlocks ||
      skipsConstantLoop(L, Plan.Polling) ||
      none_of(Plan.Polling,
              [](const BasicBlock *B) { return pollsMarkedMemory(*B); }))
    return std::nullopt;

  SmallVector<BasicBlock *, 16> Working;
  for (BasicBlock *B : L.blocks())
    if (!Plan.Polling.contains(B))
      Working.push_back(B);
  auto AfterWork =
      reached(L, Working, Successors, [](BasicBlock *) { return true; });
  for (BasicBlock *B : Plan.Polling)
    if (AfterWork.contains(B))
      Plan.Shared.insert(B);
  bool AnyWorkReturns = any_of(predecessors(Header), [&](BasicBlock *B) {
    return L.contains(B) &&
           (!Plan.Polling.contains(B) || Plan.Shared.contains(B));
  });
  auto EndsByBranch = [](const BasicBlock *B) {
    return isa<BranchInst, SwitchInst>(B->getTerminator());
  };
  // Gives up if a block cannot be copied, or if an edge to the header or to a
  // copied block cannot be redirected.
  if (!AnyWorkReturns || Header->isEHPad() ||
      !all_of(Plan.Polling, EndsByBranch) ||
      !all_of(Plan.Shared, [](BasicBlock *B) { return canCopy(*B); }) ||
      any_of(predecessors(Header), [](const BasicBlock *B) {
        return isa<IndirectBrInst, CallBrInst>(B->getTerminator());
      }))
    return std::nullopt;
  return Plan;
}

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
  return Limited.Why.empty() ||
         (Use == SplitFor::Report && S.Yields && (Limited.Plan || S.ByClock));
}

/// Returns true if the loop at Header is a wait that is unbounded, is limited
/// for the sake of rare work, or gives a hint: without a hint or rare work, a
/// count that goes on while the loop works is more likely one of attempts. The
/// loop must be proved to be a wait: a probable wait is only reported, so
/// splitting it would be of no use.
static bool isWait(Function &F, const BasicBlock *Header, bool HasRare,
                   VariableFacts &Variables, SplitFor Use) {
  DominatorTree DT(F);
  LoopInfo LI(DT);
  SpinLoopInfo Info = findSpinLoops(F, LI, DT, Variables);
  auto IsPlain = [](const Poll &P) { return P.isPlain() && !P.OnlyLocates; };
  return any_of(Info.Loops, [&](const SpinLoop &S) {
    if (S.L->getHeader() != Header || !S.Doubt.empty() || S.Gated || S.Sleeps ||
        S.Kind == SpinKind::Retry || S.Kind == SpinKind::Device)
      return false;
    if (none_of(S.Polls, IsPlain) &&
        (!S.Bounded || (HasRare && isLimited(S, F, LI, DT, Use))))
      return true;
    return S.hints() && othersGiveWork(*S.L, DT, Variables);
  });
}

/// Returns true if the polling paths, split off in a copy of F, are proved to
/// be a wait.
static bool isWorthIt(const Split &Plan, VariableFacts &Variables,
                      SplitFor Use) {
  Function &F = *Plan.Header->getParent();
  ValueToValueMapTy Map;
  Function *Copy = CloneFunction(&F, Map);
  auto CopyOf = [&](BasicBlock *B) { return cast<BasicBlock>(Map[B]); };
  Split Same{CopyOf(Plan.Header), Plan.HasRare, {}, {}};
  for (BasicBlock *B : Plan.Polling)
    Same.Polling.insert(CopyOf(B));
  for (BasicBlock *B : Plan.Shared)
    Same.Shared.insert(CopyOf(B));
  apply(Same, nullptr);
  bool Result = isWait(*Copy, Same.Header, Same.HasRare, Variables, Use);
  Copy->eraseFromParent();
  return Result;
}

/// Returns true if F's loop at Header is, without being split, proved to be a
/// spin loop. One that sleeps in rare iterations is not: the polls in between
/// are the wait.
static bool isWhole(Function &F, FunctionAnalysisManager &FAM,
                    const Split &Plan, VariableFacts &Variables) {
  SpinLoopInfo Info =
      findSpinLoops(F, FAM.getResult<LoopAnalysis>(F),
                    FAM.getResult<DominatorTreeAnalysis>(F), Variables);
  return any_of(Info.Loops, [&](const SpinLoop &S) {
    return S.L->getHeader() == Plan.Header && S.Doubt.empty() &&
           !(S.Sleeps && Plan.HasRare);
  });
}

/// Returns the ID of L. Simplification may leave it at a branch that was a back
/// edge, or on only one of several back edges. Null if there is none.
static MDNode *idOf(const Loop &L, const LoopInfo &LI) {
  if (MDNode *ID = L.getLoopID())
    return ID;
  for (const BasicBlock *B : L.blocks())
    if (LI.getLoopFor(B) == &L)
      if (MDNode *ID = B->getTerminator()->getMetadata(LLVMContext::MD_loop))
        return ID;
  return nullptr;
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
    if (!Plan || isMarked(*L, KeepMark) || isWhole(F, FAM, *Plan, Variables) ||
        Trials++ >= MaxTrials || !isWorthIt(*Plan, Variables, Use))
      continue;
    Worth.push_back({L->getHeader(), idOf(*L, LI)});
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
