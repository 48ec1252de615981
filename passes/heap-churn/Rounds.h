//===- Rounds.h - Whether memory is held, in a round of a loop --*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_ROUNDS_H
#define VFRIENDLY_PASSES_HEAPCHURN_ROUNDS_H

#include "passes/heap-churn/Allocation.h"

#include "llvm/ADT/DenseMap.h"

namespace llvm {
class BasicBlock;
class Loop;
} // namespace llvm

namespace vfriendly {

/// Of what a round of the loop has taken.
enum class Hold {
  Moot,  ///< Control does not get here, or only if nothing is kept.
  No,    ///< It is not taken yet, or freed.
  Yes,   ///< It is held.
  Maybe, ///< It depends on how control came here.
};

/// Where in L the memory of A is held. Each round begins without any: what the
/// round before has not freed is lost, as nothing leads to it (Allocation.cpp).
class Rounds {
public:
  /// pre: A.Known, and L contains A.Call.
  Rounds(const Allocation &A, const llvm::Loop &L,
         const llvm::DominatorTree &DT);

  /// Before I, which is in L.
  Hold before(const llvm::Instruction &I) const;

  /// If control goes from From, which is in L, to To.
  Hold between(const llvm::BasicBlock &From, const llvm::BasicBlock &To) const;

  /// Where control comes to Exit from L.
  Hold atExit(const llvm::BasicBlock &Exit) const { return In.lookup(&Exit); }

private:
  Hold behind(const llvm::BasicBlock &B) const;
  Hold passed(const llvm::Instruction *Event, Hold State) const;
  void flow(const llvm::BasicBlock &B);
  bool isMootOn(const llvm::BasicBlock &From, const llvm::BasicBlock &To) const;

  const Allocation &A;
  const llvm::Loop &L;
  const llvm::DominatorTree &DT;
  /// A and its frees, in the order of execution in each block.
  llvm::DenseMap<const llvm::BasicBlock *,
                 llvm::SmallVector<const llvm::Instruction *, 2>>
      Events;
  llvm::DenseMap<const llvm::BasicBlock *, Hold> In;
  llvm::SmallVector<const llvm::BasicBlock *, 8> Worklist;
};

} // namespace vfriendly

#endif
