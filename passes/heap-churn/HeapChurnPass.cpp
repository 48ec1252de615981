//===- HeapChurnPass.cpp - Take less from the heap ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy: which allocation goes where, and what is said about it.
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/HeapChurnPass.h"

#include "passes/heap-churn/Allocation.h"
#include "passes/heap-churn/Rewrite.h"
#include "passes/spin-loops/KeepMarks.h"
#include "vfriendly/Catalogue.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

using namespace llvm;

namespace vfriendly {

namespace {

constexpr const char *PassName = "vf-heap-churn";
/// Of a frame: a quarter of a page, where guard pages are hit by larger ones.
constexpr uint64_t MaxFrame = 1024;

class HeapChurnImpl {
public:
  HeapChurnImpl(Module &M, FunctionAnalysisManager &FAM, bool Rewrites)
      : FAM(FAM), Keep(findKeepFunctions(M)), Rewrites(Rewrites) {}

  bool run(Function &F);

private:
  bool treat(CallBase &Call, Function &F, uint64_t &Frame);
  bool hoistOut(const Allocation &A, Function &F, StringRef &Why);
  void sayResizes(Function &F);

  FunctionAnalysisManager &FAM;
  FunctionSet Keep;
  bool Rewrites;
};

bool mayTreat(const Function &F) {
  return !F.hasOptNone() && !F.hasFnAttribute(Attribute::Naked) &&
         !F.isPresplitCoroutine() && !F.callsFunctionThatReturnsTwice() &&
         !F.hasFnAttribute(Attribute::SanitizeAddress) &&
         !F.hasFnAttribute(Attribute::SanitizeHWAddress) &&
         !F.hasFnAttribute(Attribute::SanitizeMemory) &&
         !F.hasFnAttribute(Attribute::SanitizeMemTag) &&
         !F.hasFnAttribute(Attribute::SanitizeThread) &&
         !F.hasFnAttribute(Attribute::SanitizeType);
}

/// Does F call itself, by functions in sight?
bool isRecursive(const Function &F) {
  SmallVector<const Function *, 16> Worklist{&F};
  SmallPtrSet<const Function *, 16> Seen;
  while (!Worklist.empty()) {
    const Function *Next = Worklist.pop_back_val();
    for (const Instruction &I : instructions(*Next)) {
      auto *Call = dyn_cast<CallBase>(&I);
      const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (Callee == &F)
        return true;
      // Who is called by an address may be F, if that has been taken.
      if (Call && !Callee && !Call->isInlineAsm() && F.hasAddressTaken())
        return true;
      if (Callee && !Callee->isDeclaration() && Seen.insert(Callee).second)
        Worklist.push_back(Callee);
    }
  }
  return false;
}

template <typename Remark>
Remark about(const Allocation &A, StringRef Name, const Twine &Text) {
  Remark R(PassName, Name, A.Call->getDebugLoc(), A.Call->getParent());
  R << Text.str() << " [" << HeapChurn.Guideline << "]";
  return R;
}

bool HeapChurnImpl::run(Function &F) {
  sayResizes(F);
  if (!Rewrites || !mayTreat(F) || Keep.contains(&F))
    return false;
  const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
  SmallVector<CallBase *, 8> Calls;
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallBase>(&I))
      if (isPlainAllocation(*Call, TLI))
        Calls.push_back(Call);
  bool Changed = false;
  uint64_t Frame = 0;
  for (CallBase *Call : Calls)
    if (treat(*Call, F, Frame)) {
      FAM.invalidate(F, PreservedAnalyses::none());
      Changed = true;
    }
  return Changed;
}

bool HeapChurnImpl::treat(CallBase &Call, Function &F, uint64_t &Frame) {
  const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
  auto &ORE = FAM.getResult<OptimizationRemarkEmitterAnalysis>(F);
  Allocation A = followAllocation(Call, TLI);
  StringRef Why = A.Why;
  if (A.Known) {
    uint64_t Size = stackSize(A, TLI);
    if (Size != 0 && Frame + Size > MaxFrame) {
      Why = "the frame would become too large";
    } else if (Size != 0 && isRecursive(F)) {
      Why = "its function is recursive";
    } else if (Size != 0) {
      Frame += Size;
      ORE.emit([&] {
        return about<OptimizationRemark>(A, "MovedToStack",
                                         "a variable takes the place of " +
                                             Twine(Size) +
                                             " bytes from the heap");
      });
      moveToStack(A, Size, TLI);
      return true;
    }
    StringRef Obstacle;
    if (hoistOut(A, F, Obstacle))
      return true;
    if (!Obstacle.empty())
      Why = Obstacle;
  }
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  Loop *L = LI.getLoopFor(Call.getParent());
  bool IsChurn = L && any_of(A.Frees, [&](const CallBase *Free) {
                   return L->contains(Free);
                 });
  if (IsChurn && !Why.empty())
    ORE.emit([&] {
      return about<OptimizationRemarkMissed>(
          A, "TakenInEachRound",
          "each round takes memory and frees it; kept so, as " + Why);
    });
  return false;
}

/// Out of as many loops as possible.
bool HeapChurnImpl::hoistOut(const Allocation &A, Function &F, StringRef &Why) {
  DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
  Loop *Best = nullptr;
  for (Loop *L = LI.getLoopFor(A.Call->getParent()); L;
       L = L->getParentLoop()) {
    StringRef Not = whyNotHoist(A, *L, DT, LI, TLI);
    if (Not.empty())
      Best = L;
    else if (!Best)
      Why = Not;
  }
  if (!Best)
    return false;
  simplifyLoop(Best, &DT, &LI, /*SE=*/nullptr,
               &FAM.getResult<AssumptionAnalysis>(F), /*MSSAU=*/nullptr,
               /*PreserveLCSSA=*/false);
  if (!Best->isLoopSimplifyForm()) {
    Why = "the loop has entries or exits that cannot be told apart";
    return false;
  }
  FAM.getResult<OptimizationRemarkEmitterAnalysis>(F).emit([&] {
    return about<OptimizationRemark>(
        A, "TakenOnce",
        "what each round of the loop takes from the heap and frees is taken "
        "once");
  });
  hoist(A, *Best, DT, LI, TLI);
  return true;
}

/// Calls that interrupt all CPUs, and that come again and again.
void HeapChurnImpl::sayResizes(Function &F) {
  LoopInfo *LI = nullptr;
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    if (!Callee || !Callee->isDeclaration() ||
        !StringSwitch<bool>(Callee->getName())
             .Cases({"madvise", "munmap", "mprotect", "mremap", "brk", "sbrk",
                     "posix_madvise", "malloc_trim"},
                    true)
             .Default(false))
      continue;
    LI = LI ? LI : &FAM.getResult<LoopAnalysis>(F);
    if (!LI->getLoopFor(Call->getParent()))
      continue;
    FAM.getResult<OptimizationRemarkEmitterAnalysis>(F).emit([&] {
      OptimizationRemarkAnalysis R(PassName, "ResizesInLoop",
                                   Call->getDebugLoc(), Call->getParent());
      R << ore::NV("Callee", Callee->getName())
        << " in a loop: each call interrupts every CPU that runs the process, "
           "an exit each in a virtual machine; make one call for all ["
        << HeapChurn.Guideline << "]";
      return R;
    });
  }
}

} // namespace

PreservedAnalyses HeapChurnPass::run(Module &M, ModuleAnalysisManager &MAM) {
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  HeapChurnImpl Impl(M, FAM, Rewrites);
  bool Changed = false;
  for (Function &F : M)
    if (!F.isDeclaration())
      Changed |= Impl.run(F);
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

void HeapChurnPass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName) {
  OS << MapClassName(name()) << "<mode=" << (Rewrites ? "on" : "off") << '>';
}

} // namespace vfriendly
