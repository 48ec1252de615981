//===- Advice.h - Remarks on code only its author can change ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   advise(F, FAM); // after all rewrites of F
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

/// Emits remarks about code that makes the process return memory to the kernel
/// again and again, and that the pass cannot rewrite: loops with system calls
/// on ranges of memory, blocks that grow by constants, and frees in reverse
/// order. Does not change F.
void advise(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

/// Emits a remark if Realloc, which is in L, grows its block by a constant in
/// each iteration.
void adviseOnGrowth(llvm::CallBase &Realloc, llvm::Loop &L,
                    llvm::FunctionAnalysisManager &FAM);

/// Emits a remark for each of Frees that runs in the reverse order of the
/// allocations.
///
/// pre: Frees are all frees in loops of F.
void adviseOnReverseFrees(llvm::ArrayRef<llvm::CallBase *> Frees,
                          llvm::Function &F,
                          llvm::FunctionAnalysisManager &FAM);

/// Returns true unless L is known to have few iterations.
bool runsLong(llvm::Loop &L, llvm::ScalarEvolution &SE);

} // namespace vfriendly

#endif
