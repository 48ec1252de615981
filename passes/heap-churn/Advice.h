//===- Advice.h - What only the author can change ---------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   advise(F, FAM); // when the rewrites have taken what they can
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_ADVICE_H
#define VFRIENDLY_PASSES_HEAPCHURN_ADVICE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class CallBase;
class Loop;
class ScalarEvolution;
} // namespace llvm

namespace vfriendly {

/// Remarks about what makes the process resize and no rewrite mends: system
/// calls for ranges of memory in loops, blocks that grow by constants, frees in
/// reverse order. Changes nothing.
void advise(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

/// About a realloc in L.
void adviseOnGrowth(llvm::CallBase &Realloc, llvm::Loop &L,
                    llvm::FunctionAnalysisManager &FAM);

/// About all frees in loops of F.
void adviseOnReverseFrees(llvm::ArrayRef<llvm::CallBase *> Frees,
                          llvm::Function &F,
                          llvm::FunctionAnalysisManager &FAM);

/// Not if L is known to have few iterations.
bool runsLong(llvm::Loop &L, llvm::ScalarEvolution &SE);

} // namespace vfriendly

#endif
