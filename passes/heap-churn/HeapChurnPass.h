//===- HeapChurnPass.h - Take less from the heap ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_HEAPCHURNPASS_H
#define VFRIENDLY_PASSES_HEAPCHURN_HEAPCHURNPASS_H

#include "llvm/IR/PassManager.h"

namespace vfriendly {

/// Finds memory that is taken and given back again and again, and keeps it
/// until giving it back pays.
///
/// What a function keeps to itself: small memory of a constant size becomes a
/// variable, what each iteration of a loop takes and frees is taken once, what
/// many iterations take comes from a pool, and what is held while something
/// long follows is freed before that. What stands in the way is said by a
/// remark.
class HeapChurnPass : public llvm::PassInfoMixin<HeapChurnPass> {
public:
  explicit HeapChurnPass(bool Rewrites) : Rewrites(Rewrites) {}

  llvm::PreservedAnalyses run(llvm::Module &M,
                              llvm::ModuleAnalysisManager &MAM);
  void printPipeline(
      llvm::raw_ostream &OS,
      llvm::function_ref<llvm::StringRef(llvm::StringRef)> MapClassName);

private:
  bool Rewrites;
};

} // namespace vfriendly

#endif
