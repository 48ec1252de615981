//===- NumaPlacementPass.h - Place data where it is used --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_NUMAPLACEMENT_NUMAPLACEMENTPASS_H
#define VFRIENDLY_PASSES_NUMAPLACEMENT_NUMAPLACEMENTPASS_H

#include "llvm/IR/PassManager.h"

namespace vfriendly {

/// Finds data that one thread initializes and other threads use, and places
/// each page on the node that uses it.
///
/// If serial code writes an object first and a parallel region uses it, inserts
/// a call of vf_numa_place after its allocation, for static arrays before main:
/// in blocks if all uses are loops with a static schedule, else interleaved.
/// The call only chooses nodes; without libvfrt it does nothing.
class NumaPlacementPass : public llvm::PassInfoMixin<NumaPlacementPass> {
public:
  explicit NumaPlacementPass(bool Rewrites) : Rewrites(Rewrites) {}

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
