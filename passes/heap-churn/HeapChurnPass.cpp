//===- HeapChurnPass.cpp - Avoid heap allocations -------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy: decides which rewrite each allocation gets, and emits the
// remarks.
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/HeapChurnPass.h"

#include "passes/analysis/common/KeepMarks.h"
#include "passes/analysis/heap/Allocation.h"
#include "passes/analysis/heap/Recursion.h"
#include "passes/common/LLVMVersions.h"
#include "passes/heap-churn/Advice.h"
#include "passes/heap-churn/PoolPhase.h"
#include "passes/heap-churn/Remarks.h"
#include "passes/heap-churn/Rewrite.h"
#include "passes/heap-churn/StackChain.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

#include <optional>

using namespace llvm;

#define DEBUG_TYPE "vf-heap-churn"
STATISTIC(NumMovedToStack, "Allocations moved to the stack");
STATISTIC(NumHoisted, "Allocations hoisted out of loops");
STATISTIC(NumPooled, "Allocations served by a pool");
STATISTIC(NumFreedEarlier, "Allocations freed after their last use");
STATISTIC(NumLeftInLoops, "Allocations left in loops");

namespace vfriendly {

namespace {

/// An allocation that no rewrite has changed so far. Why is the reason.
struct Left {
  CallBase *Call;
  StringRef Why;
  /// True if Call allocates blocks in many iterations of a loop, and a later
  /// loop of the function frees these blocks.
  bool IsFreedLater = false;
};

class HeapChurnImpl {
public:
  HeapChurnImpl(Module &M, FunctionAnalysisManager &FAM, bool Rewrites,
                bool IsBeforeLink)
      : M(M), FAM(FAM), Keep(findKeepFunctions(M)), Rewrites(Rewrites),
        IsBeforeLink(IsBeforeLink) {}

  bool run(Function &F);

private:
  bool rewrite(Function &F);
  bool moveOrHoist(Function &F, ArrayRef<CallBase *> Calls,
                   SmallVectorImpl<Left> &Others);
  bool moveOrHoist(CallBase &Call, FunctionState &Here, StringRef &Why);
  bool hoistOut(const Allocation &A, FunctionState &Here, StringRef &Why);
  bool poolPhases(Function &F, SmallVectorImpl<Left> &Others);
  bool freeEarlierOrSayWhy(Function &F, ArrayRef<Left> Others);
  const Recursion &recursion();
  StackChain &chain();
  OptimizationRemarkEmitter &remarks(Function &F) {
    return FAM.getResult<OptimizationRemarkEmitterAnalysis>(F);
  }

  Module &M;
  FunctionAnalysisManager &FAM;
  FunctionSet Keep;
  /// Analysis of recursion in the whole module, computed when it is first used.
  std::optional<Recursion> Recursive;
  std::optional<StackChain> Chain;
  bool Rewrites;
  bool IsBeforeLink;
};

} // namespace

FunctionState::FunctionState(Function &F, FunctionAnalysisManager &FAM)
    : F(F), TLI(FAM.getResult<TargetLibraryAnalysis>(F)),
      DT(FAM.getResult<DominatorTreeAnalysis>(F)),
      LI(FAM.getResult<LoopAnalysis>(F)) {}

/// Returns true if F has any attribute sanitize_*. The set of these attributes
/// differs between LLVM versions.
static bool isSanitized(const Function &F) {
  return any_of(F.getAttributes().getFnAttrs(), [](Attribute A) {
    return A.isEnumAttribute() &&
           Attribute::getNameFromAttrKind(A.getKindAsEnum())
               .starts_with("sanitize_");
  });
}

static bool mayTreat(const Function &F) {
  return !F.hasOptNone() && !F.hasFnAttribute(Attribute::Naked) &&
         !F.isPresplitCoroutine() && !F.callsFunctionThatReturnsTwice() &&
         !isSanitized(F);
}

/// Returns true if link-time optimization may inline F, and F's frame with it,
/// into a recursive function. LLVM's inliner avoids large frames only in
/// functions that call themselves directly.
static bool mayBeInlined(const Function &F) {
  return !F.hasFnAttribute(Attribute::NoInline) && F.getName() != "main";
}

const Recursion &HeapChurnImpl::recursion() {
  if (!Recursive)
    Recursive.emplace(M, [&](Function &Each) -> const TargetLibraryInfo & {
      return FAM.getResult<TargetLibraryAnalysis>(Each);
    });
  return *Recursive;
}

StackChain &HeapChurnImpl::chain() {
  if (!Chain)
    Chain.emplace(M);
  return *Chain;
}

bool HeapChurnImpl::run(Function &F) {
  // The function has the annotation vfriendly:keep: its code is not rewritten.
  if (Keep.contains(&F))
    return false;
  bool Changed = Rewrites && mayTreat(F) && rewrite(F);
  if (Changed)
    FAM.invalidate(F, PreservedAnalyses::none());
  advise(F, FAM);
  return Changed;
}

bool HeapChurnImpl::rewrite(Function &F) {
  const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
  SmallVector<CallBase *, 8> Calls;
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallBase>(&I))
      if (isPlainAllocation(*Call, TLI) && !isMarkedRewritten(*Call))
        Calls.push_back(Call);
  if (Calls.empty())
    return false;
  SmallVector<Left, 8> Others;
  bool Changed = moveOrHoist(F, Calls, Others);
  if (Changed)
    FAM.invalidate(F, PreservedAnalyses::none());
  Changed |= poolPhases(F, Others);
  return freeEarlierOrSayWhy(F, Others) || Changed;
}

/// Moves the block of each allocation to the stack, or hoists the allocation
/// out of loops; adds the other allocations to Others. Creates a new
/// FunctionState only when a rewrite has made the last one stale, because the
/// analyses of a FunctionState are expensive.
bool HeapChurnImpl::moveOrHoist(Function &F, ArrayRef<CallBase *> Calls,
                                SmallVectorImpl<Left> &Others) {
  bool Changed = false;
  while (!Calls.empty()) {
    FunctionState Here(F, FAM);
    findVanishing(Here);
    while (!Calls.empty() && !Here.IsStale) {
      CallBase *Call = Calls.front();
      Calls = Calls.drop_front();
      StringRef Why;
      if (!moveOrHoist(*Call, Here, Why))
        Others.push_back({Call, Why});
    }
    Changed |= Here.IsChanged;
    if (!Here.Promoted.empty())
      PromoteMemToReg(Here.Promoted, Here.DT);
    if (Here.IsStale)
      FAM.invalidate(F, PreservedAnalyses::none());
  }
  return Changed;
}

bool HeapChurnImpl::moveOrHoist(CallBase &Call, FunctionState &Here,
                                StringRef &Why) {
  Allocation A = followAllocation(Call, Here.TLI, Here.DT);
  Why = A.Why;
  if (!A.Known)
    return false;
  uint64_t Size = stackSize(A, Here);
  if (Size != 0 && !chain().hasRoom(Here.F, Size)) {
    Why = "with its callers and callees its function would need too much stack "
          "(-vf-stack-limit)";
  } else if (Size != 0 && IsBeforeLink && mayBeInlined(Here.F)) {
    Why = "the linker may inline its function into a recursive one";
  } else if (Size != 0 && recursion().mayBeRecursive(Here.F)) {
    Why = "its function may be recursive";
  } else if (Size != 0) {
    ++NumMovedToStack;
    say<OptimizationRemark>(remarks(Here.F), Call, "MovedToStack",
                            "a variable takes the place of " + Twine(Size) +
                                " bytes from the heap");
    moveToStack(A, Size, Here);
    chain().add(Here.F, Size);
    return true;
  }
  StringRef Obstacle;
  if (hoistOut(A, Here, Obstacle))
    return true;
  if (Why.empty())
    Why = Obstacle;
  return false;
}

/// Hoists A out of as many loops as possible.
bool HeapChurnImpl::hoistOut(const Allocation &A, FunctionState &Here,
                             StringRef &Why) {
  Loop *Best = nullptr;
  for (Loop *L = Here.LI.getLoopFor(A.Call->getParent()); L;
       L = L->getParentLoop()) {
    StringRef Not = whyNotHoist(A, *L, Here);
    if (Not.empty())
      Best = L;
    else if (!Best)
      Why = Not;
  }
  if (!Best)
    return false;
  if (!prepareHoist(*Best, Here)) {
    Why = "the loop cannot be given a preheader and dedicated exits";
    return false;
  }
  ++NumHoisted;
  say<OptimizationRemark>(
      remarks(Here.F), *A.Call, "TakenOnce",
      "the block that each iteration of the loop allocates and frees is "
      "allocated once");
  hoist(A, *Best, Here);
  return true;
}

bool HeapChurnImpl::poolPhases(Function &F, SmallVectorImpl<Left> &Others) {
  FunctionState Here(F, FAM);
  SmallVector<CallBase *, 8> Calls;
  for (const Left &Each : Others)
    Calls.push_back(Each.Call);
  PoolPhase Phase(Calls, Here, [&] { return recursion().isRecursive(F); });
  for (Left &Each : Others) {
    if (StringRef Why = Phase.whyNot(*Each.Call); !Why.empty())
      Each.Why = Why;
    Each.IsFreedLater = Phase.isOwnRun(*Each.Call);
  }
  if (Phase.pooled().empty())
    return false;
  NumPooled += Phase.pooled().size();
  for (CallBase *Call : Phase.pooled())
    say<OptimizationRemark>(
        remarks(F), *Call, "TakenFromPool",
        "the blocks that the iterations of the loop allocate come from a pool; "
        "link with libvfrt, or they come from malloc as before");
  erase_if(Others, [&](const Left &Each) {
    return is_contained(Phase.pooled(), Each.Call);
  });
  Phase.rewrite();
  return true;
}

/// Returns true if B, a block of L, runs only while an exception unwinds.
static bool isUnwinding(const BasicBlock &B, const Loop &L,
                        const DominatorTree &DT) {
  for (auto *Node = DT.getNode(&B); Node && L.contains(Node->getBlock());
       Node = Node->getIDom())
    if (Node->getBlock()->isEHPad())
      return true;
  return false;
}

/// Returns true if L frees the block that Call allocates, other than while an
/// exception unwinds. If only some iterations execute Call, the same iteration
/// must free the block: otherwise the block lives until a later iteration
/// replaces it, as in a growing vector, and the loop allocates rarely.
static bool isFreedIn(const Loop &L, const CallBase &Call,
                      const FunctionState &Here) {
  SmallVector<BasicBlock *, 2> Latches;
  L.getLoopLatches(Latches);
  bool EachIteration = all_of(Latches, [&](const BasicBlock *Each) {
    return Here.DT.dominates(Call.getParent(), Each);
  });
  SmallVector<const Value *, 8> Worklist{&Call};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Worklist.empty())
    for (const User *Each : Worklist.pop_back_val()->users()) {
      auto *Free = dyn_cast<CallBase>(Each);
      if (Free && getFreedOperand(Free, &Here.TLI) && L.contains(Free) &&
          !isUnwinding(*Free->getParent(), L, Here.DT))
        return true;
      auto *Phi = dyn_cast<PHINode>(Each);
      if (Phi && Phi->getParent() == L.getHeader() && !EachIteration)
        continue;
      if (isa<PHINode, SelectInst, CastInst, FreezeInst>(Each) &&
          Seen.insert(Each).second)
        Worklist.push_back(Each);
    }
  return false;
}

bool HeapChurnImpl::freeEarlierOrSayWhy(Function &F, ArrayRef<Left> Others) {
  FunctionState Here(F, FAM);
  for (auto [Call, Why, IsFreedLater] : Others) {
    Allocation A = followAllocation(*Call, Here.TLI, Here.DT);
    Instruction *At =
        A.Known
            ? earlierFree(A, FAM.getResult<PostDominatorTreeAnalysis>(F), Here)
            : nullptr;
    if (At) {
      ++NumFreedEarlier;
      say<OptimizationRemark>(remarks(F), *Call, "FreedEarlier",
                              "it is freed after its last use, before the "
                              "code that follows runs");
      freeEarlier(A, *At, Here);
      continue;
    }
    const Loop *L = Here.LI.getLoopFor(Call->getParent());
    if (!L)
      continue;
    ++NumLeftInLoops;
    bool IsFreed = isFreedIn(*L, *Call, Here);
    std::string Text = (Twine("each iteration allocates memory") +
                        (IsFreed ? " and frees it" : "") + "; kept: " + Why)
                           .str();
    // If the function does not free the block, the remark is not about a missed
    // optimization: the block may have to outlive the function.
    if (IsFreed || IsFreedLater)
      say<OptimizationRemarkMissed>(remarks(F), *Call, "TakenInEachIteration",
                                    Text);
    else
      say<OptimizationRemarkAnalysis>(remarks(F), *Call, "TakenInEachIteration",
                                      Text);
  }
  return Here.IsChanged;
}

PreservedAnalyses HeapChurnPass::run(Module &M, ModuleAnalysisManager &MAM) {
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  HeapChurnImpl Impl(M, FAM, Rewrites, isBeforeLink(M, LTO));
  bool Changed = false;
  for (Function &F : M)
    if (!F.isDeclaration())
      Changed |= Impl.run(F);
  linkPoolFallback(M);
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

void HeapChurnPass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName) {
  OS << MapClassName(name()) << "<mode=" << (Rewrites ? "on" : "off") << '>';
}

} // namespace vfriendly
