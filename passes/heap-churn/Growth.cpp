//===- Growth.cpp - Blocks that grow by constants -------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (...) {                       while (...) {
//     p = realloc(p, (i + 1) * n);      if (used == room)
//     ...                                 p = realloc(p, room += 16);
//   }                                     ...
//
// ScalarEvolution knows a size that grows in each iteration. A size that grows
// in some iterations is a phi of the loop's header whose value from the latch
// is either unchanged or increased, and is increased only on paths through the
// realloc. A counter that also increases on other paths may double between two
// calls.
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Advice.h"

#include "passes/analysis/heap/Allocation.h"
#include "passes/common/LLVMVersions.h"
#include "passes/heap-churn/Remarks.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace vfriendly {

namespace {

/// How a value differs from one iteration of a loop to the next.
enum class Change { None, Grows, Other };

class Growth {
public:
  Growth(CallBase &Realloc, Loop &L, Function &F, FunctionAnalysisManager &FAM)
      : Realloc(Realloc), L(L), SE(FAM.getResult<ScalarEvolutionAnalysis>(F)),
        DT(FAM.getResult<DominatorTreeAnalysis>(F)),
        LI(FAM.getResult<LoopAnalysis>(F)), AA(FAM.getResult<AAManager>(F)) {}

  bool isByConstant() {
    if (!runsLong(L, SE) || !isCarried())
      return false;
    SmallVector<BasicBlock *, 2> Latches;
    L.getLoopLatches(Latches);
    EachIteration = all_of(Latches, [&](const BasicBlock *Each) {
      return DT.dominates(Realloc.getParent(), Each);
    });
    findEqual();
    findCounters();
    Change Found = Change::None;
    // The arguments after the pointer are the size or, in reallocarray, the
    // number of elements and their size.
    for (Value *Size : drop_begin(Realloc.args()))
      Found = join(Found, changeOf(SE.getSCEV(Size)));
    return Found == Change::Grows;
  }

private:
  static Change join(Change A, Change B) {
    if (A == Change::Other || B == Change::Other)
      return Change::Other;
    return A == Change::None ? B : A;
  }

  static const SCEV *stripCasts(const SCEV *S) {
    while (auto *Cast = dyn_cast<SCEVIntegralCastExpr>(S))
      S = Cast->getOperand();
    return S;
  }

  const SCEV *scev(Value &V) { return stripCasts(SE.getSCEV(&V)); }

  /// Returns true if S is positive or assumed to be. An unknown loop-invariant
  /// size is assumed to be positive, unless it is multiplied by a negative
  /// number.
  bool isPositive(const SCEV *S) {
    if (!SE.isLoopInvariant(S, &L) || isa<SCEVConstant>(S))
      return SE.isKnownPositive(S);
    auto *Product = dyn_cast<SCEVMulExpr>(stripCasts(S));
    return !SE.isKnownNonPositive(S) &&
           !(Product && SE.isKnownNegative(Product->getOperand(0)));
  }

  /// Returns the only operand of the sum S that varies in the loop, if the sum
  /// of the other operands is positive, and null otherwise. Returns S itself if
  /// it is not a sum.
  const SCEV *withoutStep(const SCEV *S) {
    auto *Sum = dyn_cast<SCEVAddExpr>(S);
    if (!Sum)
      return S;
    const SCEV *Found = nullptr;
    for (const SCEV *Each : Sum->operands()) {
      if (SE.isLoopInvariant(Each, &L))
        continue;
      if (Found)
        return nullptr;
      Found = Each;
    }
    return Found && isPositive(SE.getMinusSCEV(S, Found)) ? stripCasts(Found)
                                                          : nullptr;
  }

  bool isStep(const SCEV *To, const SCEV *From) {
    if (To->getType() != From->getType())
      return false;
    const SCEV *Step = SE.getMinusSCEV(To, From);
    return SE.isLoopInvariant(Step, &L) && isPositive(Step);
  }

  /// Finds pairs of values that are equal when Realloc is called, because a
  /// branch such as `if (used == room)` guards the call. GVN may have replaced
  /// one value by the other there.
  void findEqual() {
    const BasicBlock *Here = Realloc.getParent();
    for (auto *Node = DT.getNode(Here)->getIDom();
         Node && L.contains(Node->getBlock()); Node = Node->getIDom()) {
      BasicBlock *From = Node->getBlock();
      auto *Branch = dyn_cast<BranchInst>(From->getTerminator());
      auto *Test = Branch && Branch->isConditional()
                       ? dyn_cast<ICmpInst>(Branch->getCondition())
                       : nullptr;
      if (!Test || !Test->isEquality() ||
          !Test->getOperand(0)->getType()->isIntegerTy())
        continue;
      BasicBlock *To =
          Branch->getSuccessor(Test->getPredicate() == ICmpInst::ICMP_NE);
      if (!DT.dominates(BasicBlockEdge(From, To), Here))
        continue;
      const SCEV *A = scev(*Test->getOperand(0)),
                 *B = scev(*Test->getOperand(1));
      Equal.push_back({A, B});
      Equal.push_back({B, A});
    }
  }

  void findCounters() {
    for (PHINode &Phi : L.getHeader()->phis())
      if (Phi.getType()->isIntegerTy() && !isa<SCEVAddRecExpr>(scev(Phi)) &&
          isCounter(Phi))
        Counters.insert(&Phi);
  }

  bool isCounter(PHINode &Phi) {
    bool Grows = false;
    for (auto [From, Block] : zip(Phi.incoming_values(), Phi.blocks()))
      if (L.contains(Block) && !isFrom(Phi, *From.get(), *Block, Grows))
        return false;
    return Grows;
  }

  /// Returns true if V, the value on an edge from Block, is computed from
  /// Counter only by adding positive steps. Sets Grows if there is at least one
  /// step.
  bool isFrom(const PHINode &Counter, Value &V, const BasicBlock &Block,
              bool &Grows) {
    SmallVector<std::pair<Value *, const BasicBlock *>, 8> Worklist{
        {&V, &Block}};
    SmallSet<std::pair<Value *, const BasicBlock *>, 8> Seen;
    while (!Worklist.empty()) {
      auto [Each, At] = Worklist.pop_back_val();
      if (Each == &Counter || !Seen.insert({Each, At}).second)
        continue;
      if (auto *Phi = dyn_cast<PHINode>(Each)) {
        // An addition in an inner loop does not count as a step, because one
        // iteration may execute it any number of times.
        if (LI.getLoopFor(Phi->getParent()) != &L ||
            Phi->getParent() == L.getHeader())
          return false;
        for (unsigned N : seq(Phi->getNumIncomingValues()))
          Worklist.push_back(
              {Phi->getIncomingValue(N), Phi->getIncomingBlock(N)});
        continue;
      }
      if (auto *Select = dyn_cast<SelectInst>(Each)) {
        Worklist.push_back({Select->getTrueValue(), Select->getParent()});
        Worklist.push_back({Select->getFalseValue(), Select->getParent()});
        continue;
      }
      const SCEV *S = scev(*Each), *Before = withoutStep(S);
      if (Before != S || isStepFromEqual(S, Counter)) {
        Grows = true;
        if (!EachIteration && !DT.dominates(Realloc.getParent(), At))
          return false;
      }
      if (isStepFromEqual(S, Counter))
        continue;
      auto *Unknown = dyn_cast_or_null<SCEVUnknown>(Before);
      if (!Unknown || Unknown->getValue() == Each)
        return false;
      Worklist.push_back({Unknown->getValue(), At});
    }
    return true;
  }

  bool isStepFromEqual(const SCEV *S, const PHINode &Counter) {
    return any_of(Equal, [&](const auto &Pair) {
      auto *Other = dyn_cast<SCEVUnknown>(Pair.second);
      return Other && Other->getValue() == &Counter && isStep(S, Pair.first);
    });
  }

  Change changeOf(const SCEV *S) {
    S = stripCasts(S);
    if (SE.isLoopInvariant(S, &L))
      return Change::None;
    if (auto *Each = dyn_cast<SCEVAddRecExpr>(S))
      return changeOfEach(*Each);
    if (auto *Unknown = dyn_cast<SCEVUnknown>(S))
      return isCounted(*Unknown->getValue()) ? Change::Grows : Change::Other;
    auto *Operation = dyn_cast<SCEVCommutativeExpr>(S);
    if (!Operation || !isa<SCEVAddExpr, SCEVMulExpr>(Operation))
      return Change::Other;
    Change Found = Change::None;
    for (const SCEV *Each : Operation->operands()) {
      Change Its = changeOf(Each);
      // Rejects a product of two operands that grow by constants: it grows by
      // more than a constant.
      if (isa<SCEVMulExpr>(Operation) &&
          (Its == Change::None ? !isPositive(Each) : Found == Change::Grows))
        return Change::Other;
      Found = join(Found, Its);
    }
    return Found;
  }

  Change changeOfEach(const SCEVAddRecExpr &S) {
    if (S.getLoop() != &L || !S.isAffine())
      return Change::Other;
    if (EachIteration)
      return isPositive(S.getStepRecurrence(SE)) ? Change::Grows
                                                 : Change::Other;
    // S also grows in iterations that do not call Realloc. Therefore S is
    // accepted only if a value that grows by 1 per iteration is equal to one of
    // Counters when Realloc is called: S is then a multiple of this counter,
    // plus a constant.
    for (auto [A, B] : Equal) {
      auto *Same = dyn_cast<SCEVAddRecExpr>(A);
      auto *Counter = dyn_cast<SCEVUnknown>(B);
      if (!Same || !Counter || Same->getLoop() != &L ||
          !isCounted(*Counter->getValue()))
        continue;
      const SCEV *Step = S.getStepRecurrence(SE),
                 *Unit = Same->getStepRecurrence(SE);
      if (Unit->isOne() && isPositive(Step))
        return Change::Grows;
    }
    return Change::Other;
  }

  bool isCounted(Value &V) {
    auto *Phi = dyn_cast<PHINode>(&V);
    if (!Phi || !L.contains(Phi))
      return false;
    if (Counters.contains(Phi))
      return true;
    bool Grows = false;
    return any_of(Counters, [&](const PHINode *Counter) {
      return isFrom(*Counter, V, *Phi->getParent(), Grows);
    });
  }

  /// Returns true if Realloc resizes the block of the previous iteration.
  bool isCarried() {
    SmallPtrSet<Value *, 8> Seen;
    Value *Old = Realloc.getArgOperand(0);
    if (comesFrom(*Old, Seen))
      return true;
    return any_of(Seen, [&](Value *Each) {
      auto *Load = dyn_cast<LoadInst>(Each);
      return Load && isCarriedIn(*Load);
    });
  }

  /// Returns true if V may be the result of Realloc. Adds all instructions of L
  /// that V may come from to Seen.
  bool comesFrom(Value &V, SmallPtrSetImpl<Value *> &Seen) {
    SmallVector<Value *, 8> Worklist{&V};
    while (!Worklist.empty()) {
      Value *Each = Worklist.pop_back_val()->stripPointerCasts();
      if (Each == &Realloc)
        return true;
      auto *I = dyn_cast<Instruction>(Each);
      if (!I || !L.contains(I) || !Seen.insert(I).second)
        continue;
      if (isa<PHINode>(I))
        append_range(Worklist, I->operands());
      else if (auto *Select = dyn_cast<SelectInst>(I))
        Worklist.append({Select->getTrueValue(), Select->getFalseValue()});
    }
    return false;
  }

  /// Returns true if Load reads a block that L has stored: each store of L to
  /// the address of Load stores a value that may be the result of Realloc, and
  /// no other instruction of L may write there.
  bool isCarriedIn(LoadInst &Load) {
    if (!Load.isUnordered() || !L.isLoopInvariant(Load.getPointerOperand()))
      return false;
    MemoryLocation Place = MemoryLocation::get(&Load);
    bool IsStored = false;
    for (BasicBlock *Block : L.blocks())
      for (Instruction &I : *Block) {
        if (!I.mayWriteToMemory() || &I == &Realloc)
          continue;
        auto *Store = dyn_cast<StoreInst>(&I);
        if (Store && Store->getPointerOperand() == Load.getPointerOperand()) {
          SmallPtrSet<Value *, 8> Seen;
          if (!comesFrom(*Store->getValueOperand(), Seen))
            return false;
          IsStored = true;
        } else if (isModSet(AA.getModRefInfo(&I, Place))) {
          return false;
        }
      }
    return IsStored;
  }

  CallBase &Realloc;
  Loop &L;
  ScalarEvolution &SE;
  const DominatorTree &DT;
  const LoopInfo &LI;
  AAResults &AA;
  bool EachIteration = false;
  SmallVector<std::pair<const SCEV *, const SCEV *>, 4> Equal;
  /// The phis of the loop header that grow by constant steps, and only on paths
  /// through Realloc.
  SmallPtrSet<const PHINode *, 4> Counters;
};

} // namespace

void adviseOnGrowth(CallBase &Realloc, Loop &L, FunctionAnalysisManager &FAM) {
  Function &F = *Realloc.getFunction();
  if (Growth(Realloc, L, F, FAM).isByConstant())
    say<OptimizationRemarkMissed>(
        FAM.getResult<OptimizationRemarkEmitterAnalysis>(F), Realloc,
        "GrowsByConstant",
        "each iteration may copy the block to one that is larger by a "
        "constant; kept: only the author can make it grow by a factor");
}

} // namespace vfriendly
