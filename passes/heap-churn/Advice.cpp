//===- Advice.cpp - Remarks on code only its author can change ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Advice.h"

#include "passes/analysis/heap/Allocation.h"
#include "passes/heap-churn/Remarks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"

using namespace llvm;

namespace vfriendly {

/// Returns true if Callee interrupts all CPUs that run the process.
static bool resizesProcess(const Function &Callee) {
  return Callee.isDeclaration() &&
         is_contained({"madvise", "munmap", "mprotect", "mremap", "brk", "sbrk",
                       "posix_madvise", "malloc_trim"},
                      Callee.getName());
}

bool runsLong(Loop &L, ScalarEvolution &SE) {
  // At most 16 iterations count as few, as in the checks. Most is 0 if no
  // maximum is known.
  unsigned Most = SE.getSmallConstantMaxTripCount(&L);
  return Most == 0 || Most > 16;
}

void advise(Function &F, FunctionAnalysisManager &FAM) {
  const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
  LoopInfo *LI = nullptr;
  SmallVector<CallBase *, 4> Reallocs, Frees;
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    if (!Callee || Callee->isIntrinsic())
      continue;
    bool Resizes = resizesProcess(*Callee),
         Grows = !Resizes && isRealloc(*Call, TLI);
    if (!Resizes && !Grows && !getFreedOperand(Call, &TLI))
      continue;
    LI = LI ? LI : &FAM.getResult<LoopAnalysis>(F);
    if (!LI->getLoopFor(Call->getParent()))
      continue;
    if (!Resizes)
      (Grows ? Reallocs : Frees).push_back(Call);
    else
      say<OptimizationRemarkAnalysis>(
          FAM.getResult<OptimizationRemarkEmitterAnalysis>(F), *Call,
          "ResizesInLoop",
          Callee->getName() +
              " in a loop: each call interrupts every CPU that runs the "
              "process, and in a virtual machine each interrupt causes an "
              "exit; make one call for all iterations");
  }
  // optnone keeps variables in memory, where the analyses do not follow them,
  // and a cold function hardly ever runs.
  if (F.hasOptNone() || F.hasFnAttribute(Attribute::Cold))
    return;
  for (CallBase *Realloc : Reallocs)
    adviseOnGrowth(*Realloc, *LI->getLoopFor(Realloc->getParent()), FAM);
  if (!Frees.empty())
    adviseOnReverseFrees(Frees, F, FAM);
}

} // namespace vfriendly
