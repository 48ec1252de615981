//===- NumaPlacementPass.cpp - Place data where it is used ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// This file decides which objects are placed, and emits a remark about each.
//
//===----------------------------------------------------------------------===//

#include "passes/numa-placement/NumaPlacementPass.h"

#include "passes/analysis/common/KeepMarks.h"
#include "passes/analysis/numa/Judgement.h"
#include "passes/common/LLVMVersions.h"
#include "passes/numa-placement/Rewrite.h"
#include "vfriendly/Catalogue.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

#define DEBUG_TYPE "vf-numa-placement"
STATISTIC(NumPlaced, "Objects placed before their first write");
STATISTIC(NumLeft, "Objects that serial code writes first, not placed");

namespace vfriendly {

namespace {

/// Minimum size of a placed object, as VF_NUMA_LEAST of the runtime: 16 pages.
constexpr uint64_t LeastSize = 64 << 10;
/// Minimum size of an object to mention in a remark: a page, as a smaller
/// object shares its page with others.
constexpr uint64_t LeastSpokenOf = 4096;

class NumaPlacementImpl {
public:
  NumaPlacementImpl(Module &M, FunctionAnalysisManager &FAM, Regions &Threads,
                    bool Rewrites)
      : M(M), FAM(FAM), Threads(Threads), Keep(findKeepFunctions(M)),
        Rewrites(Rewrites) {}

  bool run();

private:
  void lookAtArray(GlobalVariable &Array);
  void lookAtCall(CallBase &Call);
  void lookAtWrapper(Function &F, const AllocationSize &Inside);
  void decide(Value &Root, const AllocationSize *Size, StringRef Name);
  template <typename Kind>
  void say(const Instruction &I, StringRef Name, const Twine &Text);

  Module &M;
  FunctionAnalysisManager &FAM;
  Regions &Threads;
  FunctionSet Keep;
  bool Rewrites;
  struct Placed {
    CallBase *Call;
    AllocationSize Size;
    bool InBlocks;
  };
  SmallVector<Placed, 8> Calls;
  SmallVector<std::pair<GlobalVariable *, bool>, 8> Arrays;
};

} // namespace

template <typename Kind>
void NumaPlacementImpl::say(const Instruction &I, StringRef Name,
                            const Twine &Text) {
  auto &F = const_cast<Function &>(*I.getFunction());
  FAM.getResult<OptimizationRemarkEmitterAnalysis>(F).emit([&] {
    Kind Remark("vf-numa-placement", Name, I.getDebugLoc(), I.getParent());
    Remark << Text.str() << " [" << NumaPlacement.Guideline << "]";
    return Remark;
  });
}

bool NumaPlacementImpl::run() {
  for (GlobalVariable &Array : M.globals())
    lookAtArray(Array);
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I))
        lookAtCall(*Call);
  // The pass makes all decisions before it changes the module.
  for (Placed &Each : Calls)
    placeAfter(*Each.Call, Each.Size, Each.InBlocks);
  placeBeforeMain(M, Arrays);
  return !Calls.empty() || !Arrays.empty();
}

void NumaPlacementImpl::lookAtArray(GlobalVariable &Array) {
  if (Array.isDeclaration() || Array.hasAvailableExternallyLinkage() ||
      Array.isConstant() || Array.isThreadLocal() ||
      Array.getAddressSpace() != 0 || Array.getName().starts_with("llvm."))
    return;
  AllocationSize Size;
  Size.Constant = M.getDataLayout().getTypeAllocSize(Array.getValueType());
  if (Size.Constant >= LeastSpokenOf)
    decide(Array, &Size, Array.getName());
}

/// Returns the name of the local or global variable that holds the result of
/// Call; empty if unknown.
static StringRef nameOf(CallBase &Call) {
  SmallVector<DbgVariableRecord *, 2> Records;
  findDebugValues(Call, Records);
  for (const User *Each : Call.users())
    if (auto *Store = dyn_cast<StoreInst>(Each);
        Store && Store->getValueOperand() == &Call) {
      if (auto *Global = dyn_cast<GlobalVariable>(Store->getPointerOperand()))
        return Global->getName();
      for (DbgVariableRecord *Declare :
           findDVRDeclares(const_cast<Value *>(Store->getPointerOperand())))
        Records.push_back(Declare);
    }
  return Records.empty() ? "" : Records.front()->getVariable()->getName();
}

void NumaPlacementImpl::lookAtCall(CallBase &Call) {
  Function &F = *Call.getFunction();
  const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
  AllocationSize Size;
  if (!isFreshAllocation(Call, TLI, Size) ||
      (Size.isConstant() && Size.Constant < LeastSpokenOf))
    return;
  // Examines the calls of F instead of Call if F is a wrapper of an allocation
  // function: each call of F creates an object of its own.
  if (isWrapperOf(F, Call) && !Threads.callsOf(F).empty())
    return lookAtWrapper(F, Size);
  decide(Call, &Size, nameOf(Call));
}

void NumaPlacementImpl::lookAtWrapper(Function &F,
                                      const AllocationSize &Inside) {
  for (CallBase *Call : Threads.callsOf(F)) {
    AllocationSize Size;
    if (forkOf(*Call))
      continue;
    bool IsKnown = sizeAt(*Call, Inside, Size);
    if (!IsKnown || !Size.isConstant() || Size.Constant >= LeastSpokenOf)
      decide(*Call, IsKnown ? &Size : nullptr, nameOf(*Call));
  }
}

static std::string described(const AllocationSize *Size, StringRef Name) {
  std::string Text = Name.empty() ? "memory" : "'" + demangle(Name) + "'";
  if (Size && Size->isConstant())
    Text += " (" + utostr(Size->Constant) + " bytes)";
  return Text;
}

void NumaPlacementImpl::decide(Value &Root, const AllocationSize *Size,
                               StringRef Name) {
  if (isMarkedPlaced(Root))
    return;
  Object Of;
  Of.Root = &Root;
  PointerFollower(Of, Threads, FAM).run();
  Judgement Found = judge(Of, Threads);
  if (Found.Is == Verdict::NotShared)
    return;
  std::string What = described(Size, Name);
  const Instruction &At = Found.FirstWrite ? *Found.FirstWrite : *Found.Use;
  if (Found.Is == Verdict::Lost)
    return say<OptimizationRemarkAnalysis>(
        At, "NotFollowed",
        What + " is not placed: it is reached through a table of pointers, "
               "which the analysis does not distinguish");
  if (Found.Is == Verdict::Table)
    return say<OptimizationRemarkAnalysis>(
        At, "TableOfPointers",
        What + " is not placed: it holds pointers, and is small compared with "
               "the memory that they lead to");
  if (Found.Is == Verdict::NeverWritten)
    return say<OptimizationRemarkAnalysis>(
        At, "NoFirstWrite",
        What + " is not placed: its first write is not in this module");
  if (Found.Is == Verdict::ParallelFirst)
    return say<OptimizationRemarkAnalysis>(
        At, "ParallelFirst",
        What + " is not placed: the threads that use it write it first");
  if (Size && Size->isConstant() && Size->Constant < LeastSize)
    return say<OptimizationRemarkAnalysis>(
        At, "Small",
        What +
            " is not placed, although serial code writes it first: it is "
            "smaller than " +
            Twine(LeastSize));
  auto *Call = dyn_cast<CallBase>(&Root);
  const char *Obstacle = !Rewrites ? "placing is switched off"
                         : !Size ? "its size is not known where it is allocated"
                         : Keep.contains(At.getFunction()) ||
                                 (Call && Keep.contains(Call->getFunction()))
                             ? "its author keeps it"
                             : nullptr;
  ++(Obstacle ? NumLeft : NumPlaced);
  if (Obstacle)
    return say<OptimizationRemarkMissed>(
        At, "SerialFirst",
        "serial code writes " + What +
            " first, so that its pages lie on one node, and a parallel region "
            "uses it; not placed: " +
            Obstacle);
  // Names the minimum size if the size of the object is known only at run time:
  // the runtime does not place smaller objects.
  std::string Condition = Size->isConstant() ? ""
                                             : " if it has at least " +
                                                   utostr(LeastSize) + " bytes";
  say<OptimizationRemark>(
      At, "Placed",
      What +
          ", which serial code writes first and a parallel region uses, is " +
          (Found.InBlocks ? "placed in blocks, one for each thread"
                          : "interleaved over all nodes") +
          " before that write" + Condition +
          "; link with libvfrt, or it stays on one node");
  if (Call)
    Calls.push_back({Call, *Size, Found.InBlocks});
  else
    Arrays.emplace_back(cast<GlobalVariable>(&Root), Found.InBlocks);
}

PreservedAnalyses NumaPlacementPass::run(Module &M,
                                         ModuleAnalysisManager &MAM) {
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  Regions Threads(M, FAM);
  if (Threads.empty())
    return PreservedAnalyses::all();
  if (!NumaPlacementImpl(M, FAM, Threads, Rewrites).run())
    return PreservedAnalyses::all();
  linkPlaceFallback(M);
  return PreservedAnalyses::none();
}

void NumaPlacementPass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName) {
  OS << MapClassName(name()) << "<mode=" << (Rewrites ? "on" : "off") << '>';
}

} // namespace vfriendly
