//===- Summary.h - What became of a unit's waits ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// -Rpass-analysis=vf-summary says one line a unit: how many waits were seen and
// rewritten, and why the others were left.
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
  /// Counts one loop; Why is empty if it was rewritten in full.
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

/// Says the summary.
class SummaryPass : public llvm::PassInfoMixin<SummaryPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M,
                              llvm::ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }
};

/// Warns that nothing is rewritten without optimization, if M has any loop: a
/// compiler's configuration checks have none.
class UnoptimizedWarningPass
    : public llvm::PassInfoMixin<UnoptimizedWarningPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }
};

} // namespace vfriendly

#endif
