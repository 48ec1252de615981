//===- FunctionSummaries.h - Functions that waits may call ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With -vf-summary=FILE, each unit records the effects of its functions in FILE
// (SummaryFile.h), and other units judge their calls by it:
//
//   thread.c   void proc_yield(void) { asm("pause"); }   "pause proc_yield"
//   client.c   while (!ready) proc_yield();              a wait, not in doubt
//
// A loop that relies on a record is only given calls after its failed polls and
// still tests its own condition. A record that is wrong, because the function
// has changed since or another one has its name, therefore costs time.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_FUNCTIONSUMMARIES_H
#define VFRIENDLY_PASSES_SPINLOOPS_FUNCTIONSUMMARIES_H

#include "llvm/IR/PassManager.h"

#include <string>

namespace vfriendly {

/// Gives declarations the attribute SummaryAttribute, with the effects that the
/// file records for their names. Ignores a file that cannot be read:
/// WriteSummaryPass, which runs later, reports it.
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
