//===- Advice.cpp - What only the author can change -----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Advice.h"

#include "passes/heap-churn/Remarks.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"

using namespace llvm;

namespace vfriendly {

/// Does it interrupt all CPUs that run the process?
static bool resizesProcess(const Function &Callee) {
  return Callee.isDeclaration() &&
         StringSwitch<bool>(Callee.getName())
             .Cases({"madvise", "munmap", "mprotect", "mremap", "brk", "sbrk",
                     "posix_madvise", "malloc_trim"},
                    true)
             .Default(false);
}

void advise(Function &F, FunctionAnalysisManager &FAM) {
  const LoopInfo *LI = nullptr;
  for (Instruction &I : instructions(F)) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    if (!Callee || !resizesProcess(*Callee))
      continue;
    LI = LI ? LI : &FAM.getResult<LoopAnalysis>(F);
    if (LI->getLoopFor(Call->getParent()))
      say<OptimizationRemarkAnalysis>(
          FAM.getResult<OptimizationRemarkEmitterAnalysis>(F), *Call,
          "ResizesInLoop",
          Callee->getName() +
              " in a loop: each call interrupts every CPU that runs the "
              "process, an exit each in a virtual machine; make one call for "
              "all");
  }
}

} // namespace vfriendly
