//===- LoopOwnership.h - Points where a loop owns its block -----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_HEAP_LOOPOWNERSHIP_H
#define VFRIENDLY_PASSES_ANALYSIS_HEAP_LOOPOWNERSHIP_H

#include "passes/analysis/heap/Allocation.h"

#include "llvm/ADT/DenseMap.h"

namespace llvm {
class BasicBlock;
class Loop;
} // namespace llvm

namespace vfriendly {

/// The ownership state at one point of an iteration: whether the iteration owns
/// the block that it allocates.
enum class Owned {
  Unreachable, ///< No path, or only paths on which the allocation failed.
  No,          ///< Not allocated yet, or freed.
  Yes,         ///< Allocated and not freed.
  Maybe,       ///< It depends on the path.
};

/// Computes where in L an iteration owns the block of A. At its beginning, an
/// iteration owns no block: a block that the previous iteration has not freed
/// is unreachable (Allocation.cpp).
class LoopOwnership {
public:
  /// pre: A.Known, and L contains A.Call.
  LoopOwnership(const Allocation &A, const llvm::Loop &L,
                const llvm::DominatorTree &DT);

  /// Returns the ownership state before the instruction I, which is in L.
  Owned before(const llvm::Instruction &I) const;

  /// Returns the ownership state on the edge from From, which is in L, to To.
  Owned between(const llvm::BasicBlock &From, const llvm::BasicBlock &To) const;

  /// Returns the ownership state where control enters Exit from L.
  Owned atExit(const llvm::BasicBlock &Exit) const { return In.lookup(&Exit); }

private:
  Owned behind(const llvm::BasicBlock &B) const;
  Owned passed(const llvm::Instruction *Event, Owned State) const;
  void flow(const llvm::BasicBlock &B);
  bool isUnreachableBy(const llvm::BasicBlock &From,
                       const llvm::BasicBlock &To) const;

  const Allocation &A;
  const llvm::Loop &L;
  const llvm::DominatorTree &DT;
  /// For each basic block, the call that allocates A and the calls that free
  /// it, in program order.
  llvm::DenseMap<const llvm::BasicBlock *,
                 llvm::SmallVector<const llvm::Instruction *, 2>>
      Events;
  llvm::DenseMap<const llvm::BasicBlock *, Owned> In;
  llvm::SmallVector<const llvm::BasicBlock *, 8> Worklist;
};

} // namespace vfriendly

#endif
