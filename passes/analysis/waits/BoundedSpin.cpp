//===- BoundedSpin.cpp - Proof that iterations may be skipped -------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The proof that iterations may be skipped. Suppose that iteration n has
// polled, the poll has failed, and the loop has continued. Skipping k
// iterations has the effect of executing iterations n+1 to n+k at that point,
// with every access reading the value that it read in iteration n. That is a
// legal execution if
//
//  - none of them has an effect: the loop stores nothing, and its calls affect
//    no other thread and nothing after the loop;
//  - none of them ends the loop: a condition that depends on no counter has its
//    value of iteration n, and one that depends on counters keeps the loop
//    running before the bound that ScalarEvolution gives;
//  - of atomic and volatile memory, each of them reads one word. If it reads
//    several, the first may change before the last is read, and iteration n+1
//    would have to see that; the rewritten loop then reads all words once more
//    (BoundedSpin.h). Plain memory cannot change: that would be a data race. A
//    loop that reads a lock and then tries to take it reads one word: its last
//    access shows that the lock is held;
//  - each of them polls what iteration n polled: no address depends on a
//    counter, and if the path through the loop does, the exits are tested in
//    every iteration all the same;
//  - nothing else is carried from one iteration to the next, except a value
//    that is the same after each iteration, such as the null that a try has
//    returned: iteration n has used it, because n > 1 (FirstPolls).
//
// Volatile reads are skipped like others: SpinLoopsPass admits only those of
// memory that the program writes.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/BoundedSpin.h"

#include "passes/analysis/common/SmallBound.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/CounterLimits.h"
#include "passes/analysis/waits/Deadline.h"
#include "passes/common/LLVMVersions.h"
#include "runtime/include/vfriendly/spin_wait.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace vfriendly {

bool BoundedPlan::isSmall() const {
  return MaxBound <= (SlowPolls ? SmallSlowBound : SmallBound);
}

namespace {

class Planner {
public:
  Planner(const SpinLoop &S, ScalarEvolution &SE, const LoopInfo &LI,
          const DominatorTree &DT)
      : S(S), L(*S.L), SE(SE), LI(LI), DT(DT) {}

  std::optional<BoundedPlan> plan(StringRef &Why);

private:
  bool isSameAfterFirst(const PHINode &Phi) const;
  StringRef findCounters();
  StringRef findEffect() const;
  StringRef findReads();
  StringRef findBound();
  bool isRepeatable(const Instruction &I) const;
  StringRef findBranches();
  bool dependsOnCounter(const Value *V, bool *ThroughPhi = nullptr) const;
  bool isPoll(const Instruction &I) const {
    return any_of(S.Polls, [&](const Poll &P) { return P.Access == &I; });
  }

  const SpinLoop &S;
  Loop &L;
  ScalarEvolution &SE;
  const LoopInfo &LI;
  const DominatorTree &DT;
  BoundedPlan Found;
  SmallPtrSet<const PHINode *, 4> Counters;
};

/// Returns true if V, which L computes, depends on the number of iterations.
/// Sets ThroughPhi if V also depends on the path through the loop.
bool Planner::dependsOnCounter(const Value *V, bool *ThroughPhi) const {
  SmallVector<const Value *, 8> Worklist{V};
  SmallPtrSet<const Value *, 16> Seen;
  while (!Worklist.empty()) {
    auto *I = dyn_cast<Instruction>(Worklist.pop_back_val());
    if (!I || !L.contains(I) || !Seen.insert(I).second)
      continue;
    if (auto *Phi = dyn_cast<PHINode>(I)) {
      if (Counters.contains(Phi))
        return true;
      if (ThroughPhi)
        *ThroughPhi = true;
      if (Phi->getParent() == L.getHeader())
        continue; // Invariant, or not used in L (findCounters).
    }
    append_range(Worklist, I->operand_values());
  }
  return false;
}

/// Returns true if all iterations but the first give Phi the same value.
bool Planner::isSameAfterFirst(const PHINode &Phi) const {
  const Value *Same = nullptr;
  for (unsigned I = 0; I != Phi.getNumIncomingValues(); ++I) {
    if (!L.contains(Phi.getIncomingBlock(I)))
      continue;
    const Value *In = Phi.getIncomingValue(I);
    while (auto *Copy = dyn_cast<PHINode>(In)) {
      const Value *Of = Copy->hasConstantValue();
      if (!Of)
        break;
      In = Of;
    }
    if (!L.isLoopInvariant(In) || (Same && Same != In))
      return false;
    Same = In;
  }
  return true;
}

/// Classifies the phis of the loop header. Returns the reason why they forbid
/// the rewrite, or an empty string.
StringRef Planner::findCounters() {
  SmallVector<PHINode *, 2> Carried;
  for (PHINode &Phi : L.getHeader()->phis()) {
    if (!SE.isSCEVable(Phi.getType())) {
      Carried.push_back(&Phi);
      continue;
    }
    const SCEV *Value = SE.getSCEV(&Phi);
    if (SE.isLoopInvariant(Value, &L))
      continue;
    auto *Counts = dyn_cast<SCEVAddRecExpr>(Value);
    if (!Counts || Counts->getLoop() != &L || !Counts->isAffine() ||
        !Phi.getType()->isIntegerTy() ||
        SE.getTypeSizeInBits(Phi.getType()) > 64) {
      Carried.push_back(&Phi);
      continue;
    }
    Found.Counters.push_back({&Phi, Counts->getStepRecurrence(SE)});
    Counters.insert(&Phi);
  }
  erase_if(Carried, [&](const PHINode *Phi) { return isSameAfterFirst(*Phi); });
  // A phi that is not a counter may hold the value last read, for use after the
  // loop: each skipped iteration reads the same value. The loop must not use
  // such a phi, and the phi must not depend on a counter.
  for (PHINode *Phi : Carried) {
    for (const User *U : Phi->users())
      if (U != Phi && L.contains(cast<Instruction>(U)))
        return "it is bounded, and an iteration uses a value of the previous "
               "one that is not a counter with a constant step";
    for (unsigned I = 0; I != Phi->getNumIncomingValues(); ++I) {
      bool ThroughPhi = false;
      if (L.contains(Phi->getIncomingBlock(I)) &&
          (dependsOnCounter(Phi->getIncomingValue(I), &ThroughPhi) ||
           ThroughPhi))
        return "it is bounded, and it keeps a value that changes with its "
               "counter";
    }
  }
  return "";
}

/// Returns the reason why an iteration does more than poll, or an empty
/// string.
StringRef Planner::findEffect() const {
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B) {
      if (I.isEHPad() || isa<InvokeInst>(I))
        return "it is bounded, and it may throw";
      if (isa<StoreInst>(I))
        return "it is bounded, and it writes memory between polls";
      if (isa<AtomicRMWInst, AtomicCmpXchgInst>(I) && !isPoll(I))
        return "it is bounded, and it writes memory between polls";
      if (auto *Intrinsic = dyn_cast<IntrinsicInst>(&I);
          Intrinsic && (Intrinsic->isAssumeLikeIntrinsic() ||
                        Intrinsic->isLifetimeStartOrEnd()))
        continue;
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      switch (classifyCall(*Call).Effect) {
      case CallEffect::None:
      case CallEffect::Pause:
      case CallEffect::Yield:
      case CallEffect::Clock:
      case CallEffect::Local:
        continue;
      case CallEffect::TryLock:
      case CallEffect::AsmLoad:
      case CallEffect::AsmTry:
        if (isPoll(I))
          continue;
        [[fallthrough]];
      default:
        return "it is bounded, and it does more than poll and count";
      }
    }
  return "";
}

static bool isSynchronizing(const Instruction &I) {
  if (auto *Load = dyn_cast<LoadInst>(&I))
    return !Load->isSimple();
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    CallEffect Effect = classifyCall(*Call).Effect;
    return Effect == CallEffect::TryLock || Effect == CallEffect::AsmLoad ||
           Effect == CallEffect::AsmTry;
  }
  return I.isAtomic() && !isa<FenceInst>(I);
}

/// Returns true if I reads the same word in each iteration and every failed
/// iteration executes I. The rewritten code can then read the word again after
/// any failed iteration.
bool Planner::isRepeatable(const Instruction &I) const {
  auto *Load = dyn_cast<LoadInst>(&I);
  if (!Load || Load->isVolatile() || !Load->getType()->isIntOrPtrTy())
    return false;
  bool ThroughPhi = false;
  if (dependsOnCounter(Load->getPointerOperand(), &ThroughPhi) || ThroughPhi)
    return false;
  SmallVector<BasicBlock *, 2> Latches;
  L.getLoopLatches(Latches);
  return all_of(Latches, [&](const BasicBlock *Latch) {
    return DT.dominates(Load->getParent(), Latch);
  });
}

/// Finds the reads that decide whether an iteration fails.
StringRef Planner::findReads() {
  bool Locks = S.Kind == SpinKind::TestAndTestAndSet && S.uniquePoll();
  SmallVector<Instruction *, 2> Reads;
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B) {
      if (!isSynchronizing(I))
        continue;
      if (LI.getLoopFor(B) != &L || !isPoll(I))
        return "it is bounded, and an iteration also reads other shared memory";
      Reads.push_back(&I);
    }
  if (Reads.size() < 2 || Locks)
    return "";
  for (Instruction *I : Reads) {
    if (!isRepeatable(*I))
      return "it is bounded, and an iteration polls several words, not all of "
             "which can be read again";
    Found.Reads.push_back(cast<LoadInst>(I));
  }
  // Dominance orders these reads, because the block of each dominates the
  // latch.
  sort(Found.Reads,
       [&](LoadInst *A, LoadInst *B) { return A != B && DT.dominates(A, B); });
  return "";
}

/// Finds the tests on counters, and the iteration in which the first of them
/// ends the loop.
StringRef Planner::findBound() {
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  for (BasicBlock *B : Exiting) {
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    if (!Br) {
      if (dependsOnCounter(B->getTerminator()->getOperand(0)))
        return "it is bounded, and its bound cannot be computed";
      continue;
    }
    for (const ExitLeaf &Leaf :
         leavesOf(Br->getCondition(), L.contains(Br->getSuccessor(0)))) {
      if (!dependsOnCounter(Leaf.Condition))
        continue;
      // Rejects a test inside an inner loop, which is executed more than once
      // per iteration of L.
      if (LI.getLoopFor(B) != &L)
        return "it is bounded, and its bound cannot be computed";
      auto Limit = SE.computeExitLimitFromCond(
          &L, Leaf.Condition, !Leaf.StaysIf, /*ControlsOnlyExit=*/false);
      const SCEV *Stays = Limit.ExactNotTaken,
                 *Most = Limit.ConstantMaxNotTaken;
      if (isa<SCEVCouldNotCompute>(Stays))
        Stays = untilAbove(Leaf, L, SE);
      if (!Stays)
        Stays = untilMultiple(Leaf, L, SE, Most);
      if (!Stays || SE.getTypeSizeInBits(Stays->getType()) > 64)
        return "it is bounded, and its bound cannot be computed";
      if (auto *Constant = dyn_cast<SCEVConstant>(Most))
        Found.MaxBound =
            std::min(Found.MaxBound, Constant->getAPInt().getLimitedValue());
      Found.Tests.push_back(Leaf);
      Found.Bound = Found.Bound
                        ? SE.getUMinFromMismatchedTypes(Found.Bound, Stays)
                        : Stays;
    }
  }
  return Found.Bound ? "" : "it is bounded, but not by a counter";
}

/// Returns the reason why the branches or inner loops of L forbid the rewrite,
/// or an empty string. If the path through L depends on a counter, every exit
/// has to be tested in every iteration, by values that do not depend on the
/// path. An inner loop without a constant trip count, as in a back-off, makes
/// some iterations longer than others. The runtime measures a single cost per
/// iteration for each loop, so it could not convert a number of iterations into
/// time.
StringRef Planner::findBranches() {
  if (any_of(L.getLoopsInPreorder(), [&](const Loop *Inner) {
        return Inner != &L && SE.getSmallConstantTripCount(Inner) == 0;
      }))
    return "it is bounded, and some of its iterations take longer than others";
  bool Depends = false;
  for (BasicBlock *B : L.blocks()) {
    Instruction *End = B->getTerminator();
    if (End->getNumSuccessors() < 2 || L.isLoopExiting(B))
      continue;
    Depends |= any_of(End->operand_values(),
                      [&](Value *V) { return dependsOnCounter(V); });
  }
  if (!Depends)
    return "";
  constexpr StringLiteral Gated =
      "it is bounded, and it polls in some of its iterations only";
  SmallVector<BasicBlock *, 4> Exiting, Latches;
  L.getExitingBlocks(Exiting);
  L.getLoopLatches(Latches);
  for (BasicBlock *B : Exiting) {
    if (!all_of(Latches,
                [&](BasicBlock *Latch) { return DT.dominates(B, Latch); }))
      return Gated;
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    if (!Br)
      return Gated;
    for (const ExitLeaf &Leaf :
         leavesOf(Br->getCondition(), L.contains(Br->getSuccessor(0)))) {
      bool ThroughPhi = false;
      if (!dependsOnCounter(Leaf.Condition, &ThroughPhi) && ThroughPhi)
        return Gated;
    }
  }
  return "";
}

/// Returns the number of polls in a block for a loop with this bound: if
/// possible a divisor of the bound, because LLVM unrolls by divisors. 128, the
/// minimum, is more than LLVM unrolls completely: at most 300 instructions, of
/// which a poll has at least 3. 256 polls, the maximum, take about a tenth of a
/// microsecond.
static unsigned blockFor(uint64_t Bound) {
  for (unsigned Size = 256; Size >= 128; --Size)
    if (Bound % Size == 0 || (Bound + 1) % Size == 0)
      return Size;
  return 256;
}

std::optional<BoundedPlan> Planner::plan(StringRef &Why) {
  Why = "";
  if (!L.isSafeToClone())
    Why = "it is bounded, and its code cannot be copied";
  for (BasicBlock *Pred : predecessors(L.getHeader()))
    if (!L.contains(Pred) &&
        isa<IndirectBrInst, CallBrInst>(Pred->getTerminator()))
      Why = "it is bounded, and it is entered by an indirect branch";
  if (Why.empty())
    Why = findCounters();
  if (Why.empty())
    Why = findEffect();
  if (Why.empty())
    Why = findReads();
  if (Why.empty())
    Why = findBound();
  if (Why.empty())
    Why = findBranches();
  if (!Why.empty())
    return std::nullopt;
  SCEVExpander Expander = expanderOf(SE);
  if (!Expander.isSafeToExpand(Found.Bound) ||
      !all_of(Found.Counters,
              [&](auto &C) { return Expander.isSafeToExpand(C.second); })) {
    Why = "it is bounded, and its bound cannot be computed";
    return std::nullopt;
  }
  // A poll takes many times as long as a read if it takes the cache line from
  // the lock's holder, or follows a pause or a delay.
  Found.SlowPolls =
      S.Pauses || S.Yields || !L.isInnermost() ||
      any_of(S.Polls, [](const Poll &P) { return P.ReadModifyWrite; });
  Found.FirstPolls =
      Found.SlowPolls ? VF_SPIN_POLLS_UNCALLED / 8 : VF_SPIN_POLLS_UNCALLED;
  static_assert(VF_SPIN_POLLS_UNCALLED / 8 > 1, "isSameAfterFirst needs two");
  if (auto *Constant = dyn_cast<SCEVConstant>(Found.Bound);
      Constant && !Found.SlowPolls)
    Found.FirstPolls = Found.Block =
        blockFor(Constant->getAPInt().getLimitedValue());
  return std::move(Found);
}

} // namespace

BoundedWait planBoundedWait(const SpinLoop &S, ScalarEvolution &SE,
                            const LoopInfo &LI, const DominatorTree &DT) {
  BoundedWait Found;
  if (!S.Summarized.empty())
    Found.Why = "it is bounded, and no iterations may be skipped, because the "
                "summary file may be out of date";
  else if (S.ByClock)
    Found.Why = whyNotUntil(S);
  else
    Found.Plan = Planner(S, SE, LI, DT).plan(Found.Why);
  if (!Found.Plan)
    return Found;
  if (S.Yields) {
    Found.Why = "it is bounded, and yields already";
  } else if (Found.Plan->isSmall()) {
    Found.Why = "its bound is reached in less time than a context switch takes";
    Found.MayPause = false;
  }
  return Found;
}

} // namespace vfriendly
