//===- SpinLoopAnalysis.h - Recognition of waiting loops --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (const SpinLoop &S : FAM.getResult<SpinLoopAnalysis>(F).Loops) ...
//
// `opt -passes='print<vf-spin-loops>'` prints the result.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_SPINLOOPANALYSIS_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_SPINLOOPANALYSIS_H

#include "passes/analysis/waits/SpinLoops.h"

#include "llvm/IR/PassManager.h"

namespace vfriendly {

/// Analysis pass over findSpinLoops.
class SpinLoopAnalysis : public llvm::AnalysisInfoMixin<SpinLoopAnalysis> {
public:
  using Result = SpinLoopInfo;
  Result run(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

private:
  friend llvm::AnalysisInfoMixin<SpinLoopAnalysis>;
  static llvm::AnalysisKey Key;
};

/// print<vf-spin-loops>: one line a loop.
class SpinLoopPrinterPass : public llvm::PassInfoMixin<SpinLoopPrinterPass> {
  llvm::raw_ostream &OS;

public:
  explicit SpinLoopPrinterPass(llvm::raw_ostream &OS) : OS(OS) {}
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
  static bool isRequired() { return true; }
};

} // namespace vfriendly

#endif
