//===- LoopOwnership.h - Where a loop owns what it allocates ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_LOOPOWNERSHIP_H
#define VFRIENDLY_PASSES_HEAPCHURN_LOOPOWNERSHIP_H

#include "passes/heap-churn/Allocation.h"

#include "llvm/ADT/DenseMap.h"

namespace llvm {
class BasicBlock;
class Loop;
} // namespace llvm

namespace vfriendly {

/// Whether an iteration of the loop owns what it allocates.
enum class Owned {
  Unreachable, ///< Not reached, or only without memory to own.
  No,          ///< Not allocated yet, or freed.
  Yes,         ///< Allocated and not freed.
  Maybe,       ///< It depends on the path.
};

/// Where in L an iteration owns the memory of A. Each iteration begins without
/// any: what the previous one has not freed is unreachable (Allocation.cpp).
class LoopOwnership {
public:
  /// pre: A.Known, and L contains A.Call.
  LoopOwnership(const Allocation &A, const llvm::Loop &L,
                const llvm::DominatorTree &DT);

  /// Before I, which is in L.
  Owned before(const llvm::Instruction &I) const;

  /// If control goes from From, which is in L, to To.
  Owned between(const llvm::BasicBlock &From, const llvm::BasicBlock &To) const;

  /// Where control comes to Exit from L.
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
  /// A and its frees, in the order of execution in each block.
  llvm::DenseMap<const llvm::BasicBlock *,
                 llvm::SmallVector<const llvm::Instruction *, 2>>
      Events;
  llvm::DenseMap<const llvm::BasicBlock *, Owned> In;
  llvm::SmallVector<const llvm::BasicBlock *, 8> Worklist;
};

} // namespace vfriendly

#endif
