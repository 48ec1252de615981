//===- ReverseFrees.cpp - Frees in reverse order of allocation ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (i = 0; i < n; ++i)
//     block[i] = malloc(size);
//   ...
//   while (i--)
//     free(block[i]);
//
// Reports a loop that frees blocks in the reverse order of their allocation. If
// the first loop ends because an allocation failed, the second loop only undoes
// its work, which happens at most once and is not reported. So only paths from
// other exits of the first loop are followed, and if it has an exit that tests
// its counter, only paths from that one.
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Advice.h"

#include "passes/analysis/heap/Allocation.h"
#include "passes/common/LLVMVersions.h"
#include "passes/heap-churn/Remarks.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Returns true if Free is in a destructor that each iteration of L calls. The
/// order in which C++ destroys the elements of an array is not the author's
/// choice.
static bool isInDestructor(const CallBase &Free, const Loop &L) {
  const BasicBlock *Latch = L.getLoopLatch();
  const DILocation *Iteration =
      Latch ? Latch->getTerminator()->getDebugLoc().get() : nullptr;
  for (const DILocation *At = Free.getDebugLoc(); At && At->getInlinedAt();
       At = At->getInlinedAt()) {
    const DISubprogram *Callee = At->getScope()->getSubprogram();
    if (!Callee->getName().starts_with("~"))
      continue;
    const DILocation *Around = Iteration;
    while (Around && (Around->getScope()->getSubprogram() != Callee ||
                      Around->getInlinedAt() != At->getInlinedAt()))
      Around = Around->getInlinedAt();
    if (!Around)
      return true;
  }
  return false;
}

namespace {

/// A loop L that accesses one element of an array in each iteration, from Start
/// upwards or downwards.
struct Walk {
  Loop *L;
  Value *Array;
  const SCEV *Start;
  bool IsUp;
};

/// A loop that stores allocations into an array.
struct Run {
  Walk Over;
  SmallPtrSet<const Value *, 4> Taken;
};

class ReverseFrees {
public:
  ReverseFrees(Function &F, FunctionAnalysisManager &FAM)
      : TLI(FAM.getResult<TargetLibraryAnalysis>(F)),
        LI(FAM.getResult<LoopAnalysis>(F)),
        SE(FAM.getResult<ScalarEvolutionAnalysis>(F)) {
    for (Instruction &I : instructions(F))
      if (auto *Store = dyn_cast<StoreInst>(&I))
        findRun(*Store);
  }

  bool isReverse(const CallBase &Free) {
    if (Runs.empty())
      return false;
    auto *Load =
        dyn_cast<LoadInst>(getUnderlyingObject(getFreedOperand(&Free, &TLI)));
    std::optional<Walk> Freed;
    if (Load &&
        LI.getLoopFor(Load->getParent()) == LI.getLoopFor(Free.getParent()))
      Freed = walkOf(*Load, *Load->getPointerOperand());
    return Freed && !isInDestructor(Free, *Freed->L) &&
           any_of(Runs, [&](const Run &Each) {
             return isSame(*Each.Over.Array, *Freed->Array) &&
                    Each.Over.IsUp != Freed->IsUp &&
                    !Each.Over.L->contains(Freed->L) &&
                    !Freed->L->contains(Each.Over.L) &&
                    isFollowedBy(Each, *Freed);
           });
  }

private:
  std::optional<Walk> walkOf(const Instruction &Access, Value &Address) {
    Loop *L = LI.getLoopFor(Access.getParent());
    if (!L || !runsLong(*L, SE))
      return std::nullopt;
    const SCEV *Place = SE.getSCEV(&Address);
    auto *Array = dyn_cast<SCEVUnknown>(SE.getPointerBase(Place));
    if (!Array || !isKept(*Array->getValue(), *L))
      return std::nullopt;
    auto *Index = dyn_cast<SCEVAddRecExpr>(SE.removePointerBase(Place));
    if (!Index || Index->getLoop() != L || !Index->isAffine())
      return std::nullopt;
    const SCEV *Step = Index->getStepRecurrence(SE);
    bool IsUp = SE.isKnownPositive(Step);
    if (!IsUp && !SE.isKnownNegative(Step))
      return std::nullopt;
    return Walk{L, Array->getValue(), Index->getStart(), IsUp};
  }

  /// Returns true if the array is the same in all iterations. Accepts a load of
  /// its address from an invariant place: such a load stays in the loop if LLVM
  /// cannot prove that free does not write that place.
  static bool isKept(const Value &Array, const Loop &L) {
    auto *Load = dyn_cast<LoadInst>(&Array);
    return L.isLoopInvariant(&Array) ||
           (Load && Load->isUnordered() &&
            L.isLoopInvariant(Load->getPointerOperand()));
  }

  void findRun(StoreInst &Store) {
    if (!Store.getValueOperand()->getType()->isPointerTy() ||
        !LI.getLoopFor(Store.getParent()))
      return;
    Run Found;
    if (!isTaken(*Store.getValueOperand(), Found))
      return;
    if (auto Over = walkOf(Store, *Store.getPointerOperand())) {
      Found.Over = *Over;
      Runs.push_back(std::move(Found));
    }
  }

  /// Returns true if V is an allocation of this iteration, or null.
  bool isTaken(Value &V, Run &Into) {
    const Loop *L = nullptr;
    SmallVector<const Value *, 4> Worklist{&V};
    SmallPtrSet<const Value *, 4> Seen;
    while (!Worklist.empty()) {
      const Value *Each = getUnderlyingObject(Worklist.pop_back_val());
      if (isa<ConstantPointerNull>(Each) || !Seen.insert(Each).second)
        continue;
      if (isa<PHINode, SelectInst>(Each)) {
        auto *Choice = cast<Instruction>(Each);
        if (auto *Select = dyn_cast<SelectInst>(Choice))
          Worklist.append({Select->getTrueValue(), Select->getFalseValue()});
        else
          append_range(Worklist, Choice->operands());
        continue;
      }
      auto *Call = dyn_cast<CallBase>(Each);
      if (!Call || !isAllocationFn(Call, &TLI) || isRealloc(*Call, TLI))
        return false;
      const Loop *Its = LI.getLoopFor(Call->getParent());
      if (!Its || (L && L != Its))
        return false;
      L = Its;
      Into.Taken.insert(Call);
    }
    return !Into.Taken.empty();
  }

  /// Returns true if A and B are the same pointer, or are loaded from the same
  /// place.
  bool isSame(const Value &A, const Value &B) {
    auto *LoadA = dyn_cast<LoadInst>(&A), *LoadB = dyn_cast<LoadInst>(&B);
    return &A == &B ||
           (LoadA && LoadB &&
            SE.getSCEV(const_cast<Value *>(LoadA->getPointerOperand())) ==
                SE.getSCEV(const_cast<Value *>(LoadB->getPointerOperand())));
  }

  /// Returns true if all paths from the exits of Taken's loop reach Next's
  /// loop. On a path that returns without reaching Next's loop, the function
  /// may keep the blocks. Ignores exits after a failed allocation. If
  /// ScalarEvolution can compute the exit count of some exits, ignores all
  /// other exits.
  bool isFollowedBy(const Run &Taken, const Walk &Next) {
    const Loop &L = *Taken.Over.L;
    SmallVector<Loop::Edge, 4> Exits;
    L.getExitEdges(Exits);
    SmallVector<const BasicBlock *, 8> Worklist;
    for (bool Counted : {true, false}) {
      for (auto [From, To] : Exits)
        if (!isFailure(*From, *To, Taken) &&
            (!Counted || !isa<SCEVCouldNotCompute>(SE.getExitCount(
                             &L, const_cast<BasicBlock *>(From)))))
          Worklist.push_back(To);
      if (!Worklist.empty())
        break;
    }
    bool IsReached = false;
    SmallPtrSet<const BasicBlock *, 16> Seen;
    while (!Worklist.empty()) {
      const BasicBlock *Each = Worklist.pop_back_val();
      if (L.contains(Each) || !Seen.insert(Each).second)
        continue;
      if (Next.L->contains(Each) || isGuard(*Each, Next)) {
        IsReached = true;
        continue;
      }
      if (isa<ReturnInst>(Each->getTerminator()))
        return false;
      append_range(Worklist, successors(Each));
    }
    return IsReached;
  }

  /// Returns true if the basic block B only tests whether the loop of Next has
  /// any iteration.
  bool isGuard(const BasicBlock &B, const Walk &Next) {
    auto *Branch = dyn_cast<BranchInst>(B.getTerminator());
    auto *Test = Branch && Branch->isConditional()
                     ? dyn_cast<ICmpInst>(Branch->getCondition())
                     : nullptr;
    const BasicBlock *Header = Next.L->getHeader();
    return Test &&
           any_of(successors(&B),
                  [&](const BasicBlock *To) {
                    return To == Header || To->getSingleSuccessor() == Header;
                  }) &&
           any_of(Test->operands(), [&](const Use &Each) {
             return isCountOf(*Each.get(), Next);
           });
  }

  /// Returns true if the first index or the iteration count of the loop
  /// Iterations is computed from V.
  bool isCountOf(Value &V, const Walk &Iterations) {
    const SCEV *S = SE.getSCEV(&V);
    while (auto *Cast = dyn_cast<SCEVIntegralCastExpr>(S))
      S = Cast->getOperand();
    return !isa<SCEVConstant>(S) &&
           any_of(ArrayRef{Iterations.Start,
                           SE.getBackedgeTakenCount(Iterations.L)},
                  [&](const SCEV *Each) {
                    return SCEVExprContains(
                        Each, [&](const SCEV *Part) { return Part == S; });
                  });
  }

  /// Returns true if control goes from From to To because an allocation failed.
  static bool isFailure(const BasicBlock &From, const BasicBlock &To,
                        const Run &Taken) {
    CmpPredicate Predicate;
    Value *Tested;
    BasicBlock *Then, *Else;
    if (!match(From.getTerminator(),
               m_Br(m_ICmp(Predicate, m_Value(Tested), m_Zero()),
                    m_BasicBlock(Then), m_BasicBlock(Else))) ||
        !ICmpInst::isEquality(Predicate) || !Taken.Taken.contains(Tested))
      return false;
    return &To == (Predicate == ICmpInst::ICMP_EQ ? Then : Else);
  }

  const TargetLibraryInfo &TLI;
  const LoopInfo &LI;
  ScalarEvolution &SE;
  SmallVector<Run, 4> Runs;
};

} // namespace

void adviseOnReverseFrees(ArrayRef<CallBase *> Frees, Function &F,
                          FunctionAnalysisManager &FAM) {
  ReverseFrees Reverse(F, FAM);
  for (CallBase *Free : Frees)
    if (Reverse.isReverse(*Free))
      say<OptimizationRemarkMissed>(
          FAM.getResult<OptimizationRemarkEmitterAnalysis>(F), *Free,
          "FreedInReverse",
          "the block allocated last is freed first, so that each free shrinks "
          "the heap; kept: only the author can free the blocks in the order of "
          "allocation, or all at once");
}

} // namespace vfriendly
