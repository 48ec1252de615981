//===- IterationBlocks.h - Blocks that live for one iteration ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (const IterationBlock &Each : findIterationBlocks(F, FAM))
//     ... Each.Call allocates, Each.Free releases, once per iteration ...
//
// The clang-tidy check reports these blocks. Unlike the rewrites of the pass,
// this search does not examine whether the address escapes: the reader of the
// report can decide that.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_HEAP_ITERATIONBLOCKS_H
#define VFRIENDLY_PASSES_ANALYSIS_HEAP_ITERATIONBLOCKS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class CallBase;
class Loop;
} // namespace llvm

namespace vfriendly {

/// The attribute of a parameter that points to a variable: the function frees
/// the block that the variable holds.
inline constexpr llvm::StringLiteral FreesTarget = "vf-frees-target";

/// An allocation in a loop whose block is freed on every path before the loop
/// allocates again, and on every path out of the function. Paths that unwind or
/// end the program do not count, nor do paths on which the block is null.
struct IterationBlock {
  const llvm::CallBase *Call;
  /// A call in the loop that frees the block.
  const llvm::CallBase *Free;
  const llvm::Loop *L; ///< Null if each call of the function does so.
};

/// Finds the allocations of F whose blocks are freed as IterationBlock requires
/// in one of their loops, the innermost such. Excludes allocations whose block
/// is used after the loop: such a loop frees blocks until it has allocated one
/// that the code after the loop can use.
llvm::SmallVector<IterationBlock, 4>
findIterationBlocks(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

/// Finds the allocations of F outside of its loops whose blocks are freed as
/// IterationBlock requires before F returns: each call allocates and frees.
llvm::SmallVector<IterationBlock, 4>
findCallBlocks(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

} // namespace vfriendly

#endif
