//===- Allocation.h - Heap memory that does not escape --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   auto Found = followAllocation(Call, TLI, DT);
//   if (!Found.Known)
//     ... Found.Why ...
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_HEAP_ALLOCATION_H
#define VFRIENDLY_PASSES_ANALYSIS_HEAP_ALLOCATION_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class BasicBlock;
class CallBase;
class DominatorTree;
class ICmpInst;
class Instruction;
class PHINode;
class TargetLibraryInfo;
class Value;
} // namespace llvm

namespace vfriendly {

/// A call that allocates a block, and all uses of that block.
struct Allocation {
  llvm::CallBase *Call;
  llvm::SmallVector<llvm::CallBase *, 2> Frees;
  /// Comparisons of the result of Call with null, for equality.
  llvm::SmallVector<llvm::ICmpInst *, 2> Tests;
  /// All instructions that read, write, free or compare the block, or pass it
  /// to a function that does not keep it. Complete if Known is true. Each of
  /// them refers to the block of the most recent execution of Call.
  llvm::SmallVector<llvm::Instruction *, 8> Users;
  /// Pairs of a phi and an incoming block: on that edge the phi is null, and
  /// not the result of Call.
  llvm::SmallVector<std::pair<llvm::PHINode *, llvm::BasicBlock *>, 2> Nones;
  /// True if the analysis understands all uses of the block. Otherwise Why
  /// names a use that it does not understand.
  bool Known = true;
  llvm::StringRef Why;
};

bool isRealloc(const llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI);

/// Returns true if Call frees its first argument and has no other effect.
bool isPlainFree(const llvm::CallBase &Call,
                 const llvm::TargetLibraryInfo &TLI);

/// Returns true if Call allocates a block and LLVM may remove the call.
bool isPlainAllocation(const llvm::CallBase &Call,
                       const llvm::TargetLibraryInfo &TLI);

/// Finds all uses of the block that Call allocates.
///
/// pre: isPlainAllocation(Call).
Allocation followAllocation(llvm::CallBase &Call,
                            const llvm::TargetLibraryInfo &TLI,
                            const llvm::DominatorTree &DT);

/// Drops the metadata of accesses to the block of A that is no longer valid
/// when all iterations of a loop share one block: different types (TBAA),
/// contents that never change, iterations that may run in parallel.
void forgetPromises(const Allocation &A);

/// Marks a rewritten instruction, so that the pass recognizes it when it runs
/// again at link time. Inlining copies the mark. If another pass drops the
/// mark, a frame may exceed the limit, and a remark may be emitted twice.
void markRewritten(llvm::Instruction &I);
bool isMarkedRewritten(const llvm::Instruction &I);

} // namespace vfriendly

#endif
