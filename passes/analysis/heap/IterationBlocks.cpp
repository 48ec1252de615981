//===- IterationBlocks.cpp - Blocks that live for one iteration -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   header: last = phi [null], [p, latch]    holders: p
//           free(last)
//           p = malloc(n)                    p becomes last on the back edge,
//   latch:  br header                        so that free(last) frees it
//
// The search starts at the allocation and follows every path. At each point of
// a path it knows the set of values that hold the block there (the holders),
// and the places in memory that do: a variable that a parallel region captures,
// a field of one, a global variable.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/heap/IterationBlocks.h"

#include "passes/analysis/heap/Allocation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

#include <limits>
#include <set>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

namespace {

class PathWalk {
public:
  /// L is the loop around Call; null if there is none.
  PathWalk(const CallBase &Call, const Loop *L, const DominatorTree &DT,
           const TargetLibraryInfo &TLI)
      : Call(Call), L(L), DT(DT), TLI(TLI),
        Layout(Call.getModule()->getDataLayout()) {
    SmallVector<BasicBlock *, 2> Latches;
    if (L)
      L->getLoopLatches(Latches);
    IsConditional = !all_of(Latches, [&](const BasicBlock *Each) {
      return DT.dominates(Call.getParent(), Each);
    });
  }

  /// Returns a call in the loop, or in the function, that frees the block, if
  /// every path frees the block before Call runs again, and null otherwise.
  const CallBase *run() {
    const BasicBlock *Begin = Call.getParent();
    Values Holders(&Call);
    if (auto *Invoke = dyn_cast<InvokeInst>(&Call)) {
      if (!enter(*Begin, *Invoke->getNormalDest(), Holders))
        return nullptr;
    } else if (!follow(std::next(Call.getIterator()), *Begin, Holders)) {
      return nullptr;
    }
    while (!Worklist.empty()) {
      auto [B, Held] = Worklist.pop_back_val();
      if (!follow(B->begin(), *B, Held))
        return nullptr;
    }
    return Free;
  }

private:
  /// The values that hold the block's address, and, with an offset, pointers to
  /// memory that holds it there.
  class Values {
  public:
    explicit Values(const Value *First) { insert(First); }
    bool count(const Value *V) const { return All.count({V, None}); }
    void insert(const Value *V) { All.insert({V, None}); }
    void erase(const Value *V) { All.erase({V, None}); }
    void store(const Value *To, bool Is, const DataLayout &Layout) {
      Place At = placeOf(To, Layout);
      if (Is && isVariable(*At.first))
        All.insert(At);
      else
        All.erase(At);
    }
    bool isAt(const Value *From, const DataLayout &Layout) const {
      return All.count(placeOf(From, Layout));
    }
    /// Forgets the places in the object that Pointer points to.
    void forget(const Value *Pointer, const DataLayout &Layout) {
      const Value *Base = placeOf(Pointer, Layout).first;
      for (auto Each = All.begin(); Each != All.end();)
        Each = Each->first == Base && Each->second != None ? All.erase(Each)
                                                           : std::next(Each);
    }
    bool operator<(const Values &Other) const { return All < Other.All; }

  private:
    static constexpr int64_t None = std::numeric_limits<int64_t>::min();
    using Place = std::pair<const Value *, int64_t>;
    /// Returns true for a variable: that no other function changes a global one
    /// meanwhile is assumed.
    static bool isVariable(const Value &Base) {
      return isa<AllocaInst, GlobalVariable>(Base);
    }
    static Place placeOf(const Value *Pointer, const DataLayout &Layout) {
      APInt Offset(Layout.getIndexTypeSizeInBits(Pointer->getType()), 0);
      const Value *Base = Pointer->stripAndAccumulateConstantOffsets(
          Layout, Offset, /*AllowNonInbounds=*/true);
      return {Base, Offset.getSExtValue()};
    }
    std::set<Place> All;
  };
  /// Maximum number of states of the walk. A state is a basic block together
  /// with the set of values that hold the block's address there.
  static constexpr size_t MaxStates = 1024;

  bool follow(BasicBlock::const_iterator From, const BasicBlock &B,
              Values Holders) {
    for (const Instruction &I : make_range(From, B.end())) {
      if (&I == &Call)
        return false;
      if (isa<PHINode>(I))
        continue;
      auto *Inner = dyn_cast<CallBase>(&I);
      if (Inner && freesTarget(*Inner, Holders)) {
        if (isInside(B))
          Free = Inner;
        return true;
      }
      if (Inner && mayStore(*Inner))
        for (const Value *Given : Inner->args())
          if (Given->getType()->isPointerTy())
            Holders.forget(Given, Layout);
      const Value *Freed = Inner ? getFreedOperand(Inner, &TLI) : nullptr;
      if (Inner && isRealloc(*Inner, TLI)) {
        if (Holders.count(Inner->getArgOperand(0)))
          Holders.insert(Inner);
      } else if (Freed && Holders.count(Freed)) {
        if (isInside(B))
          Free = Inner;
        return true;
      } else if (auto *Select = dyn_cast<SelectInst>(&I)) {
        if (Holders.count(Select->getTrueValue()) &&
            Holders.count(Select->getFalseValue()))
          Holders.insert(&I);
      } else if (isa<CastInst, FreezeInst, GetElementPtrInst>(I)) {
        if (Holders.count(I.getOperand(0)))
          Holders.insert(&I);
      } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
        if (!isInside(B) && isUse(I, Holders))
          return false;
        Holders.store(Store->getPointerOperand(),
                      Holders.count(Store->getValueOperand()), Layout);
      } else if (auto *Load = dyn_cast<LoadInst>(&I);
                 Load && Holders.isAt(Load->getPointerOperand(), Layout)) {
        Holders.insert(&I);
      } else if (!isInside(B) && isUse(I, Holders)) {
        return false;
      }
    }
    const Instruction &End = *B.getTerminator();
    if (isa<ReturnInst>(End))
      return false;
    for (const BasicBlock *To : successors(&B))
      if (!isNullOn(B, *To, Holders) && !isOfOthers(B, *To) &&
          !enter(B, *To, Holders))
        return false;
    return true;
  }

  /// Returns true if Call frees what a variable holds, and that is the block.
  bool freesTarget(const CallBase &Call, const Values &Holders) const {
    const Function *Callee = Call.getCalledFunction();
    for (unsigned I = 0; Callee && I < Callee->arg_size(); ++I)
      if (Callee->getAttributes().getParamAttrs(I).hasAttribute(FreesTarget) &&
          Holders.isAt(Call.getArgOperand(I), Layout))
        return true;
    return false;
  }

  /// Returns true if I, after the loop, uses the block for more than a
  /// comparison.
  bool isUse(const Instruction &I, const Values &Holders) const {
    return !isa<ICmpInst, IntrinsicInst>(I) && !isUnwinding(*I.getParent()) &&
           any_of(I.operands(),
                  [&](const Use &Each) { return Holders.count(Each); });
  }

  bool isUnwinding(const BasicBlock &B) const {
    for (auto *Node = DT.getNode(&B); Node; Node = Node->getIDom())
      if (Node->getBlock()->isEHPad())
        return true;
    return false;
  }

  bool enter(const BasicBlock &From, const BasicBlock &To, Values Holders) {
    // Rejects a block that only some iterations allocate and that is live on
    // the back edge: the loop keeps it until it must be replaced.
    if (IsConditional && &To == L->getHeader() && L->contains(&From))
      return false;
    SmallVector<const PHINode *, 4> Added;
    for (const PHINode &Phi : To.phis()) {
      if (Holders.count(Phi.getIncomingValueForBlock(&From)))
        Added.push_back(&Phi);
      else
        Holders.erase(&Phi);
    }
    for (const PHINode *Each : Added)
      Holders.insert(Each);
    if (!Seen.insert({&To, Holders}).second)
      return true;
    Worklist.push_back({&To, std::move(Holders)});
    return Seen.size() <= MaxStates;
  }

  /// Returns true if control goes from From to To only if the allocation has
  /// failed.
  static bool isNullOn(const BasicBlock &From, const BasicBlock &To,
                       const Values &Holders) {
    auto *Branch = dyn_cast<BranchInst>(From.getTerminator());
    auto *Test = Branch && Branch->isConditional()
                     ? dyn_cast<ICmpInst>(Branch->getCondition())
                     : nullptr;
    if (!Test || !Test->isEquality() ||
        !isa<ConstantPointerNull>(Test->getOperand(1)) ||
        !Holders.count(Test->getOperand(0)))
      return false;
    return &To ==
           Branch->getSuccessor(Test->getPredicate() == ICmpInst::ICMP_NE);
  }

  /// Returns true if Call may change memory that it gets a pointer to. A region
  /// of OpenMP captures the variables that it names, and mostly reads them.
  static bool mayStore(const CallBase &Call) {
    const Function *Callee = Call.getCalledFunction();
    return !isa<LifetimeIntrinsic>(Call) && !Call.onlyReadsMemory() &&
           !(Callee && Callee->getName().starts_with("__kmpc_fork_call"));
  }

  /// Returns true if control goes from From to To only in threads of a team
  /// other than the master: the allocation is the master's, if it is one that
  /// only the master does.
  static bool isOfOthers(const BasicBlock &From, const BasicBlock &To) {
    auto *Branch = dyn_cast<BranchInst>(From.getTerminator());
    auto *Test = Branch && Branch->isConditional()
                     ? dyn_cast<ICmpInst>(Branch->getCondition())
                     : nullptr;
    auto *Asked =
        Test && Test->isEquality() && match(Test->getOperand(1), m_Zero())
            ? dyn_cast<CallBase>(Test->getOperand(0))
            : nullptr;
    const Function *Callee = Asked ? Asked->getCalledFunction() : nullptr;
    return Callee &&
           (Callee->getName() == "__kmpc_master" ||
            Callee->getName() == "__kmpc_masked") &&
           &To ==
               Branch->getSuccessor(Test->getPredicate() == ICmpInst::ICMP_NE);
  }

  bool isInside(const BasicBlock &B) const { return !L || L->contains(&B); }

  const CallBase &Call;
  const Loop *L;
  const DominatorTree &DT;
  const TargetLibraryInfo &TLI;
  const DataLayout &Layout;
  bool IsConditional;
  const CallBase *Free = nullptr;
  std::set<std::pair<const BasicBlock *, Values>> Seen;
  SmallVector<std::pair<const BasicBlock *, Values>, 8> Worklist;
};

} // namespace

/// Finds the blocks of F that are allocated in loops, or outside of all.
static SmallVector<IterationBlock, 4>
find(Function &F, FunctionAnalysisManager &FAM, bool InLoops) {
  SmallVector<IterationBlock, 4> Found;
  const auto &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
  const auto &LI = FAM.getResult<LoopAnalysis>(F);
  if (InLoops && LI.empty())
    return Found;
  const auto &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  for (const Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Loop *L = Call ? LI.getLoopFor(Call->getParent()) : nullptr;
    if (!Call || InLoops != (L != nullptr) || !isAllocationFn(Call, &TLI) ||
        isRealloc(*Call, TLI))
      continue;
    // An inner loop may take what it does not have yet, and the outer one end
    // it.
    do {
      if (const CallBase *Free = PathWalk(*Call, L, DT, TLI).run()) {
        Found.push_back({Call, Free, L});
        break;
      }
      L = L ? L->getParentLoop() : nullptr;
    } while (L);
  }
  return Found;
}

SmallVector<IterationBlock, 4>
findIterationBlocks(Function &F, FunctionAnalysisManager &FAM) {
  return find(F, FAM, /*InLoops=*/true);
}

SmallVector<IterationBlock, 4> findCallBlocks(Function &F,
                                              FunctionAnalysisManager &FAM) {
  return find(F, FAM, /*InLoops=*/false);
}

} // namespace vfriendly
