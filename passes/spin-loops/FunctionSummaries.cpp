//===- FunctionSummaries.cpp - Functions that waits may call --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/FunctionSummaries.h"

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Causes.h"
#include "passes/spin-loops/SummaryFile.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace vfriendly {

namespace {

/// Maximum number of instructions of a function, and maximum depth of calls, as
/// in Expose.cpp for functions of the same module.
constexpr unsigned MaxInstructions = 300, MaxDepth = 8;

/// Judges functions by their bodies.
class FunctionJudge {
public:
  explicit FunctionJudge(FunctionAnalysisManager &FAM) : FAM(FAM) {}

  CallEffect effectOf(Function &F, unsigned Depth = 0);

private:
  /// The effects of the instructions of one function that have been examined so
  /// far.
  struct Effects {
    CallEffect Hint = CallEffect::None; ///< None, Pause, Yield or Sleep.
    bool Clock = false, Reads = false;
  };

  bool note(CallEffect Effect, Effects &Does);
  bool note(Instruction &I, Effects &Does, unsigned Depth);
  bool alwaysEnds(Function &F);

  FunctionAnalysisManager &FAM;
  DenseMap<const Function *, CallEffect> Known;
};

/// Adds Effect to Does. Returns false if a waiting loop may not call a function
/// with this effect.
bool FunctionJudge::note(CallEffect Effect, Effects &Does) {
  switch (Effect) {
  case CallEffect::None:
  case CallEffect::Local:
    return true;
  case CallEffect::Pause:
  case CallEffect::Yield:
  case CallEffect::Sleep:
    Does.Hint = std::max(Does.Hint, Effect);
    return true;
  case CallEffect::Clock:
    Does.Clock = true;
    return true;
  case CallEffect::AsmLoad:
  case CallEffect::Reads:
    Does.Reads = true;
    return true;
  case CallEffect::TryLock:
  case CallEffect::Lock:
  case CallEffect::AsmTry:
  case CallEffect::AsmAdd:
  case CallEffect::AsmStore:
  case CallEffect::Other:
    return false;
  }
  llvm_unreachable("all effects named above");
}

/// Returns true if Address points into a local variable of the executing
/// function that does not escape.
static bool isOwnVariable(const Value *Address) {
  return isa<AllocaInst>(getUnderlyingObject(Address)) && !mayBeShared(Address);
}

bool FunctionJudge::note(Instruction &I, Effects &Does, unsigned Depth) {
  if (auto *Memory = dyn_cast<MemIntrinsic>(&I)) {
    if (auto *Copy = dyn_cast<MemTransferInst>(Memory))
      Does.Reads |= mayBeShared(Copy->getSource());
    return isOwnVariable(Memory->getDest());
  }
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    if (Call->doesNotReturn()) // Such as a failed assertion: ends the wait.
      return true;
    CallEffect Effect = classifyCall(*Call).Effect;
    Function *Callee = Call->getCalledFunction();
    if (Effect == CallEffect::Other && Callee)
      Effect = effectOf(*Callee, Depth + 1);
    return note(Effect, Does);
  }
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return isOwnVariable(Store->getPointerOperand());
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    const Value *Address = Load->getPointerOperand();
    if (!mayBeShared(Address))
      return true;
    // Volatile memory behind a pointer may be a device.
    if (isDeviceAddress(Address) ||
        (Load->isVolatile() &&
         !isa<GlobalVariable>(getUnderlyingObject(Address))))
      return false;
    Does.Reads = true;
    return true;
  }
  return isa<FenceInst, AllocaInst>(I) ||
         (!I.mayReadOrWriteMemory() && !I.mayThrow() && !I.isEHPad());
}

/// Returns true if the trip count of each loop of F can be computed before the
/// loop. A function that itself waits must not be called in a wait.
bool FunctionJudge::alwaysEnds(Function &F) {
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  ReversePostOrderTraversal<const Function *> Blocks(&F);
  if (containsIrreducibleCFG<const BasicBlock *>(Blocks, LI))
    return false;
  if (LI.empty())
    return true;
  ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
  return all_of(LI.getLoopsInPreorder(), [&](const Loop *L) {
    return !isa<SCEVCouldNotCompute>(SE.getBackedgeTakenCount(L));
  });
}

CallEffect FunctionJudge::effectOf(Function &F, unsigned Depth) {
  // The linker may replace an inexact definition by a copy of the function with
  // other effects, for example one that is less optimized.
  if (!F.hasExactDefinition() || Depth > MaxDepth || F.doesNotReturn() ||
      F.hasFnAttribute(Attribute::Naked) ||
      F.hasFnAttribute(Attribute::ReturnsTwice) || F.isPresplitCoroutine() ||
      !hasNItemsOrLess(instructions(F), MaxInstructions))
    return CallEffect::Other;
  auto [It, New] = Known.try_emplace(&F, CallEffect::Other); // Ends recursion.
  if (!New)
    return It->second;
  Effects Does;
  for (Instruction &I : instructions(F))
    if (!note(I, Does, Depth))
      return CallEffect::Other;
  if (!alwaysEnds(F))
    return CallEffect::Other;
  // A dependence on a clock or on memory matters only if the function returns a
  // value.
  CallEffect Result = CallEffect::None;
  if (Does.Hint != CallEffect::None)
    Result = Does.Hint;
  else if (!F.getReturnType()->isVoidTy())
    Result = Does.Clock   ? CallEffect::Clock
             : Does.Reads ? CallEffect::Reads
                          : CallEffect::None;
  return Known[&F] = Result;
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
