//===- PollingPaths.cpp - Paths of a loop that only poll ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/prepare/PollingPaths.h"

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/LoopView.h"
#include "passes/common/LLVMVersions.h"
#include "passes/common/RuntimeCalls.h"
#include "passes/prepare/KnownWays.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Maximum number of blocks on the polling paths of one loop. A poll of several
/// words has about ten after inlining.
static constexpr unsigned MaxPollingBlocks = 32;

/// Maximum number of blocks of a loop in which rare branches are looked for. A
/// wait with one has about ten.
static constexpr unsigned MaxBlocksWithRare = 64;

using Blocks = SmallPtrSet<const BasicBlock *, 8>;

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

/// Returns the blocks of L that control reaches from its header only by an edge
/// in Edges.
static Blocks onlyReachedBy(
    const Loop &L,
    const SmallDenseSet<std::pair<const BasicBlock *, const BasicBlock *>, 4>
        &Edges) {
  Blocks Others, Found;
  SmallVector<const BasicBlock *, 16> Worklist{L.getHeader()};
  while (!Worklist.empty()) {
    const BasicBlock *B = Worklist.pop_back_val();
    if (!L.contains(B) || !Others.insert(B).second)
      continue;
    for (const BasicBlock *Next : successors(B))
      if (!Edges.contains({B, Next}))
        Worklist.push_back(Next);
  }
  for (const BasicBlock *B : L.blocks())
    if (!Others.contains(B))
      Found.insert(B);
  return Found;
}

/// Returns true if Condition compares a counter that some iterations set to a
/// constant again, as a worker's count of polls since its last task, with a
/// limit that no other thread is expected to change.
static bool comparesFailures(const Value *Condition, const Loop &L) {
  auto *Compare = dyn_cast<ICmpInst>(Condition);
  if (!Compare)
    return false;
  auto IsLimit = [&](const Value *V) {
    auto *Load = dyn_cast<LoadInst>(V);
    return L.isLoopInvariant(V) || (Load && !isMarkedAccess(*Load));
  };
  const Value *Count = Compare->getOperand(0), *Limit = Compare->getOperand(1);
  if (IsLimit(Count))
    std::swap(Count, Limit);
  const APInt *Step;
  match(Count, m_Add(m_Value(Count), m_APInt(Step)));
  auto *Phi = dyn_cast<PHINode>(Count);
  if (!Phi || Phi->getParent() != L.getHeader() || !IsLimit(Limit))
    return false;
  return stepOf(*Phi, L).By == Step::Counts;
}

/// Returns the blocks of L that run in rare iterations only: those on the side
/// of a branch on a counter or a clock on which there is work, if there is none
/// on the other side. Several such branches may lead to the work, as in
/// `if (n < 100 && !expired()) yield(); else block();`.
static Blocks findRareBlocks(Loop &L, Surroundings &Around) {
  Blocks Working, Rare;
  if (L.getNumBlocks() > MaxBlocksWithRare)
    return Rare;
  for (BasicBlock *B : L.blocks())
    if (any_of(*B, [&](const Instruction &I) {
          return worksRarely(I, L, Around.LI);
        }))
      Working.insert(B);
  if (Working.empty())
    return Rare;
  auto Works = [&](const BasicBlock *B) { return Working.contains(B); };
  LoopView In(L, Around);
  SmallDenseSet<std::pair<const BasicBlock *, const BasicBlock *>, 4> ToWork;
  for (BasicBlock *D : L.blocks()) {
    auto *Br = dyn_cast<BranchInst>(D->getTerminator());
    if (!Br || !Br->isConditional() || In.LI.getLoopFor(D) != &L ||
        !L.contains(Br->getSuccessor(0)) || !L.contains(Br->getSuccessor(1)) ||
        Br->getSuccessor(0) == Br->getSuccessor(1))
      continue;
    SmallSetVector<const BasicBlock *, 8> Sides[2];
    for (BasicBlock *B : L.blocks())
      for (unsigned Side : {0, 1})
        if (In.DT.dominates(BasicBlockEdge(D, Br->getSuccessor(Side)), B))
          Sides[Side].insert(B);
    bool First = any_of(Sides[0], Works), Second = any_of(Sides[1], Works);
    // Neither side dominates the work if other branches lead there, too.
    bool Joins = !First && !Second;
    if (Joins) {
      First = everyWayPasses(L, Br->getSuccessor(0), Working);
      Second = everyWayPasses(L, Br->getSuccessor(1), Working);
    }
    if (First == Second)
      continue;
    const auto &Side = Sides[First ? 0 : 1];
    // How often other threads let the branch be taken is not known, unless they
    // are asked in rare iterations only. Plain memory, such as a limit that can
    // be configured, is seldom written.
    Causes C = In.Causes.collect(Br->getCondition());
    if (!comparesFailures(Br->getCondition(), L) &&
        (!(C.kinds() & (Own | Clock)) || (C.kinds() & Walks) ||
         any_of(C.Polls, [&](const Instruction *I) {
           return isMarkedAccess(*I) && !Side.contains(I->getParent());
         })))
      continue;
    if (Joins)
      ToWork.insert({D, Br->getSuccessor(First ? 0 : 1)});
    else
      insertRange(Rare, Side);
  }
  if (!ToWork.empty())
    insertRange(Rare, onlyReachedBy(L, ToWork));
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

std::optional<Split> planSplit(Loop &L, Surroundings &Around) {
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
        auto *Call = dyn_cast<CallBase>(&I);
        return mayHaveEffect(I, L, LI) &&
               !(Call && isHint(promisedEffect(*Call)));
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

bool sleepsRarely(Loop &L, Surroundings &Around) {
  Blocks Rare = findRareBlocks(L, Around);
  bool Sleeps = false;
  for (BasicBlock *B : L.blocks())
    if (any_of(*B, [](const Instruction &I) {
          auto *Call = dyn_cast<CallBase>(&I);
          return Call && classifyCall(*Call).Effect == CallEffect::Sleep;
        })) {
      if (!Rare.contains(B))
        return false;
      Sleeps = true;
    }
  return Sleeps;
}

} // namespace vfriendly
