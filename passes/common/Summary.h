//===- Summary.h - Summary of a translation unit's waits --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler option -Rpass-analysis=vf-summary prints one remark for each
// translation unit: how many waits the pass found and rewrote, and why it left
// the others as they are.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_SUMMARY_H
#define VFRIENDLY_PASSES_COMMON_SUMMARY_H

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/PassManager.h"

#include <map>
#include <string>

namespace vfriendly {

/// Counts the decisions of all runs of the pass on one module. Changes of the
/// module do not invalidate the counts.
class Summary {
public:
  /// Counts one loop. Why is the reason if the loop was not rewritten.
  void count(bool Rewritten, llvm::StringRef Why);

  /// Returns the text of the remark: `3 waits seen, 1 rewritten, 2 left: it
  /// sleeps between polls (2)`
  std::string text() const;

  bool invalidate(llvm::Module &, const llvm::PreservedAnalyses &,
                  llvm::ModuleAnalysisManager::Invalidator &) {
    return false;
  }

private:
  unsigned Rewritten = 0, Left = 0;
  /// The reasons, in the order in which they were first counted.
  llvm::MapVector<std::string, unsigned, std::map<std::string, unsigned>>
      Reasons;
};

class SummaryAnalysis : public llvm::AnalysisInfoMixin<SummaryAnalysis> {
public:
  using Result = Summary;
  Summary run(llvm::Module &, llvm::ModuleAnalysisManager &) { return {}; }

private:
  friend llvm::AnalysisInfoMixin<SummaryAnalysis>;
  static llvm::AnalysisKey Key;
};

/// Emits the summary as a remark.
class SummaryPass : public llvm::PassInfoMixin<SummaryPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M,
                              llvm::ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }
};

/// Warns that nothing is rewritten without optimization. Does not warn for a
/// module without loops, such as the test programs of configure scripts.
class UnoptimizedWarningPass
    : public llvm::PassInfoMixin<UnoptimizedWarningPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }
};

} // namespace vfriendly

#endif
