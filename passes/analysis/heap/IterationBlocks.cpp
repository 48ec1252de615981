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
// a path it knows the set of values that hold the block there (the holders).
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

#include <set>

using namespace llvm;

namespace vfriendly {

namespace {

class PathWalk {
public:
  /// L is the loop around Call; null if there is none.
  PathWalk(const CallBase &Call, const Loop *L, const DominatorTree &DT,
           const TargetLibraryInfo &TLI)
      : Call(Call), L(L), DT(DT), TLI(TLI) {
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
    Values Holders{&Call};
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
  /// The values that hold the block's address, sorted.
  using Values = std::set<const Value *>;
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
      } else if (!isInside(B) && isUse(I, Holders)) {
        return false;
      }
    }
    const Instruction &End = *B.getTerminator();
    if (isa<ReturnInst>(End))
      return false;
    for (const BasicBlock *To : successors(&B))
      if (!isNullOn(B, *To, Holders) && !enter(B, *To, Holders))
        return false;
    return true;
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
    Values Added;
    for (const PHINode &Phi : To.phis()) {
      if (Holders.count(Phi.getIncomingValueForBlock(&From)))
        Added.insert(&Phi);
      else
        Holders.erase(&Phi);
    }
    Holders.insert(Added.begin(), Added.end());
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

  bool isInside(const BasicBlock &B) const { return !L || L->contains(&B); }

  const CallBase &Call;
  const Loop *L;
  const DominatorTree &DT;
  const TargetLibraryInfo &TLI;
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
    if (const CallBase *Free = PathWalk(*Call, L, DT, TLI).run())
      Found.push_back({Call, Free, L});
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
