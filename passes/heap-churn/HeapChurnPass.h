//===- HeapChurnPass.h - Avoid heap allocations -----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_HEAPCHURNPASS_H
#define VFRIENDLY_PASSES_HEAPCHURN_HEAPCHURNPASS_H

#include "llvm/IR/PassManager.h"
#include "llvm/Pass.h"

namespace vfriendly {

/// Finds memory that is allocated and freed repeatedly, and keeps it until
/// returning it to the kernel pays.
///
/// Rewrites allocations that do not escape. A small block of constant size
/// becomes a variable. A block that each iteration of a loop allocates and
/// frees is allocated once. Blocks that outlive their iteration come from a
/// pool. A block that is held while later code takes long is freed before that
/// code. Each obstacle is reported by a remark.
class HeapChurnPass : public llvm::PassInfoMixin<HeapChurnPass> {
public:
  explicit HeapChurnPass(bool Rewrites, llvm::ThinOrFullLTOPhase LTO =
                                            llvm::ThinOrFullLTOPhase::None)
      : Rewrites(Rewrites), LTO(LTO) {}

  llvm::PreservedAnalyses run(llvm::Module &M,
                              llvm::ModuleAnalysisManager &MAM);
  void printPipeline(
      llvm::raw_ostream &OS,
      llvm::function_ref<llvm::StringRef(llvm::StringRef)> MapClassName);

private:
  bool Rewrites;
  llvm::ThinOrFullLTOPhase LTO;
};

} // namespace vfriendly

#endif
