//===- FunctionSummaries.h - Functions that waits may call ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With -vf-summary=FILE, the compilation of each unit records the effects of
// its functions in FILE (SummaryFile.h), and later compilations classify calls
// of these functions by the records:
//
//   thread.c   void proc_yield(void) { asm("pause"); }   "pause proc_yield"
//   client.c   while (!ready) proc_yield();              a wait, not in doubt
//
// If the detection of a wait relies on a record, the rewrite only adds calls
// after the loop's failed polls, and the loop still tests its own condition. So
// a wrong record costs only time. A record is wrong if the function has changed
// since, or if another function has its name.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_FUNCTIONSUMMARIES_H
#define VFRIENDLY_PASSES_SPINLOOPS_FUNCTIONSUMMARIES_H

#include "llvm/IR/PassManager.h"

#include <string>

namespace vfriendly {

/// Gives declarations the attribute SummaryAttribute, with the effects that the
/// summary file Path records for their names. Ignores a file that cannot be
/// read: WriteSummaryPass, which runs later, reports the error.
class ReadSummaryPass : public llvm::PassInfoMixin<ReadSummaryPass> {
public:
  explicit ReadSummaryPass(std::string Path) : Path(std::move(Path)) {}
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }

private:
  std::string Path;
};

/// Records the effects of the module's functions that other units can call.
/// Runs last, when the attributes and the bodies of functions are final.
class WriteSummaryPass : public llvm::PassInfoMixin<WriteSummaryPass> {
public:
  /// IsLink: true if M is a whole program or shared library, which full LTO has
  /// merged.
  explicit WriteSummaryPass(std::string Path, bool IsLink = false)
      : Path(std::move(Path)), IsLink(IsLink) {}
  llvm::PreservedAnalyses run(llvm::Module &M,
                              llvm::ModuleAnalysisManager &MAM);
  static bool isRequired() { return true; }

private:
  std::string Path;
  bool IsLink;
};

} // namespace vfriendly

#endif
