//===- FunctionSummaries.cpp - Functions that waits may call --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/FunctionSummaries.h"

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Summaries.h"
#include "passes/spin-loops/SummaryFile.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace vfriendly {

namespace {

class FunctionJudge {
public:
  explicit FunctionJudge(FunctionAnalysisManager &FAM) : FAM(FAM) {}

  CallEffect effectOf(Function &F);

private:
  bool alwaysEnds(Function &F);

  FunctionAnalysisManager &FAM;
  Summaries Callees{Summaries::Record};
  DenseMap<const Function *, bool> Ends;
};

/// Returns true if the trip count of each loop of F, and of the functions that
/// it calls, can be computed before the loop. A function that itself waits must
/// not be called in a wait.
bool FunctionJudge::alwaysEnds(Function &F) {
  auto [It, New] = Ends.try_emplace(&F, true);
  if (!New || F.isDeclaration())
    return It->second;
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  ReversePostOrderTraversal<const Function *> Blocks(&F);
  auto Counted = [&](const Loop *L) {
    return !isa<SCEVCouldNotCompute>(
        FAM.getResult<ScalarEvolutionAnalysis>(F).getBackedgeTakenCount(L));
  };
  return Ends[&F] = !containsIrreducibleCFG<const BasicBlock *>(Blocks, LI) &&
                    all_of(LI.getLoopsInPreorder(), Counted) &&
                    all_of(instructions(F), [&](Instruction &I) {
                      auto *Call = dyn_cast<CallBase>(&I);
                      Function *Callee =
                          Call ? Call->getCalledFunction() : nullptr;
                      return !Callee || alwaysEnds(*Callee);
                    });
}

CallEffect FunctionJudge::effectOf(Function &F) {
  std::optional<CalleeEffects> Does = Callees.of(F, /*Locals=*/0);
  if (!Does || !alwaysEnds(F))
    return CallEffect::Other;
  // A dependence on a clock or on memory matters only if the function returns a
  // value.
  if (Does->Hint != CallEffect::None || F.getReturnType()->isVoidTy())
    return Does->Hint;
  return Does->ReadsClock ? CallEffect::Clock
         : Does->Reads    ? CallEffect::Reads
                          : CallEffect::None;
}

/// Returns true if a function of another unit may call F by its name.
bool isCallableByOthers(const Function &F) {
  return F.hasExactDefinition() && !F.hasLocalLinkage() &&
         // Excludes a local function that ThinLTO has promoted: its name is
         // valid for this link only.
         !F.getName().contains(".llvm.") &&
         effectOfLibraryFunction(F.getName()) == CallEffect::Other;
}

} // namespace

PreservedAnalyses ReadSummaryPass::run(Module &M, ModuleAnalysisManager &) {
  Expected<SummaryFile> File = SummaryFile::read(Path);
  if (!File) {
    consumeError(File.takeError());
    return PreservedAnalyses::all();
  }
  bool Changed = false;
  for (Function &F : M) {
    // Skips weak declarations, because the function may have no definition or a
    // different one.
    if (!F.isDeclaration() || F.isIntrinsic() || F.hasExternalWeakLinkage())
      continue;
    CallEffect Effect = File->effectOf(F.getName());
    if (Effect == CallEffect::Other)
      continue;
    F.addFnAttr(SummaryAttribute, wordFor(Effect));
    Changed = true;
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

PreservedAnalyses WriteSummaryPass::run(Module &M, ModuleAnalysisManager &MAM) {
  FunctionJudge Judge(
      MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager());
  std::map<std::string, CallEffect> All;
  for (Function &F : M)
    if (isCallableByOthers(F))
      All[F.getName().str()] = Judge.effectOf(F);

  SmallString<128> Unit(M.getSourceFileName());
  // Full LTO gives the merged module the same name in each link, so the name of
  // its first function identifies it instead.
  if (IsLink)
    Unit = All.empty() ? "-" : All.begin()->first;
  sys::fs::make_absolute(Unit);
  auto Record = [&](const SummaryFile &File) {
    SummaryFile::Effects Recorded;
    // Most functions have the effect Other. Records it only if another unit
    // records a different effect under the same name, so that the units do not
    // agree.
    for (const auto &[Name, Effect] : All)
      if (Effect != CallEffect::Other || File.isRecordedBesides(Name, Unit))
        Recorded[Name] = Effect;
    return Recorded;
  };
  if (Error E = SummaryFile::update(Path, Unit, Record))
    M.getContext().emitError("vfriendly: -vf-summary: " +
                             toString(std::move(E)));
  return PreservedAnalyses::all();
}

} // namespace vfriendly
