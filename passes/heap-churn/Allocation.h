//===- Allocation.h - Heap memory that a function keeps to itself ---------===//
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

#ifndef VFRIENDLY_PASSES_HEAPCHURN_ALLOCATION_H
#define VFRIENDLY_PASSES_HEAPCHURN_ALLOCATION_H

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

/// A call that allocates, and all that is done with its memory.
struct Allocation {
  llvm::CallBase *Call;
  llvm::SmallVector<llvm::CallBase *, 2> Frees;
  /// What compares the result of Call with null, for equality.
  llvm::SmallVector<llvm::ICmpInst *, 2> Tests;
  /// Whatever reads, writes, frees, compares or borrows it: all there is, if
  /// Known. Each of them means the memory of the last execution of Call.
  llvm::SmallVector<llvm::Instruction *, 8> Users;
  /// Phis that are null, and not the result of Call, if control comes from that
  /// block.
  llvm::SmallVector<std::pair<llvm::PHINode *, llvm::BasicBlock *>, 2> Nones;
  /// Whether nothing else is done with it. If not, Why says what is.
  bool Known = true;
  llvm::StringRef Why;
};

bool isRealloc(const llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI);

/// Returns true if Call frees its first argument, and does nothing else.
bool isPlainFree(const llvm::CallBase &Call,
                 const llvm::TargetLibraryInfo &TLI);

/// Returns true if the callee allows LLVM to remove the allocation.
bool isPlainAllocation(const llvm::CallBase &Call,
                       const llvm::TargetLibraryInfo &TLI);

/// pre: isPlainAllocation(Call).
Allocation followAllocation(llvm::CallBase &Call,
                            const llvm::TargetLibraryInfo &TLI,
                            const llvm::DominatorTree &DT);

/// Drops what the accesses to A promise of themselves that holds no longer if
/// iterations of a loop, each of which had memory of its own, share it: types
/// that differ, contents that never change, that iterations may run at the same
/// time.
void forgetPromises(const Allocation &A);

/// On what a rewrite made, so that the pass knows it when it runs again, in a
/// linker. Inlining takes it along; if a pass drops it, a frame may become
/// larger than it should, and a remark is given twice.
void markRewritten(llvm::Instruction &I);
bool isMarkedRewritten(const llvm::Instruction &I);

} // namespace vfriendly

#endif
