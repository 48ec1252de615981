//===- SpinLoopAnalysis.cpp - Recognition of waiting loops ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/SpinLoopAnalysis.h"

#include "llvm/IR/Dominators.h"

using namespace llvm;

namespace vfriendly {

AnalysisKey SpinLoopAnalysis::Key;

SpinLoopInfo SpinLoopAnalysis::run(Function &F, FunctionAnalysisManager &FAM) {
  VariableFacts Variables;
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  return findSpinLoops(LI.getLoopsInPreorder(), LI,
                       FAM.getResult<DominatorTreeAnalysis>(F), Variables);
}

PreservedAnalyses SpinLoopPrinterPass::run(Function &F,
                                           FunctionAnalysisManager &FAM) {
  for (const SpinLoop &S : FAM.getResult<SpinLoopAnalysis>(F).Loops) {
    OS << F.getName() << ": " << S.L->getHeader()->getName() << ": "
       << toString(S.Kind);
    for (auto [Set, Word] :
         {std::pair(S.Bounded, "bounded"), std::pair(S.Pauses, "pauses"),
          std::pair(S.Yields, "yields"), std::pair(S.Sleeps, "sleeps"),
          std::pair(!S.Doubt.empty(), "in doubt")})
      if (Set)
        OS << ", " << Word;
    for (const Poll &P : S.Polls) {
      OS << "; ";
      if (P.Address)
        P.Address->printAsOperand(OS, /*PrintType=*/false);
      else
        OS << "a call";
      OS << " x" << P.Size << ' '
         << (P.Volatile    ? "volatile"
             : P.isPlain() ? "plain"
                           : toIRString(P.Ordering));
      if (P.ReadModifyWrite)
        OS << " try";
    }
    OS << '\n';
  }
  return PreservedAnalyses::all();
}

} // namespace vfriendly
