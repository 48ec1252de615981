//===- PoolPhase.h - Pools for the blocks of a function ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (...) block[i] = malloc(n);        ... = vf_pool_alloc(&pool, n);
//   ...                               =>
//   for (...) free(block[i]);              vf_pool_free(&pool, block[i]);
//   return;                                vf_pool_destroy(&pool); return;
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_POOLPHASE_H
#define VFRIENDLY_PASSES_HEAPCHURN_POOLPHASE_H

#include "passes/analysis/heap/PointsTo.h"
#include "passes/heap-churn/Rewrite.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class CallInst;
class Module;
class Type;
} // namespace llvm

namespace vfriendly {

/// The allocations of a function whose blocks outlive the iteration of the loop
/// that allocates them.
class PoolPhase {
public:
  /// The constructor only analyses; rewrite() changes the function. Others are
  /// the allocations that no other rewrite applies to. IsRecursive returns true
  /// if the function may call itself; it is called only if needed.
  PoolPhase(llvm::ArrayRef<llvm::CallBase *> Others, FunctionState &Here,
            llvm::function_ref<bool()> IsRecursive);

  /// Allocations whose blocks can come from a pool of the function.
  llvm::ArrayRef<llvm::CallBase *> pooled() const { return Pooled; }

  /// Returns the reason why an allocation that outlives its iteration does not
  /// come from the pool; empty for any other allocation.
  llvm::StringRef whyNot(const llvm::CallBase &Call) const {
    return WhyNot.lookup(&Call);
  }

  /// Returns true if the blocks that Call allocates do not escape, and a loop
  /// of the function frees them.
  bool isOwnRun(const llvm::CallBase &Call) const {
    return OwnRuns.contains(&Call);
  }

  /// Creates the pool, and destroys it where control leaves the function.
  void rewrite();

private:
  void findFrees(const PointsTo &Known);
  void judge(const llvm::CallBase &Call, const PointsTo &Known,
             llvm::StringRef Obstacle);
  bool refuse(const llvm::CallBase &Call, llvm::StringRef Why);
  void spread(llvm::function_ref<bool(llvm::CallBase *)> Is,
              llvm::function_ref<bool(llvm::CallBase *)> Become) const;
  bool outlivesIteration(const llvm::CallBase &Call,
                         const PointsTo &Known) const;
  llvm::StringRef obstacle(llvm::function_ref<bool()> IsRecursive) const;
  llvm::CallInst *callRuntime(llvm::StringRef Name, llvm::Type *Result,
                              llvm::ArrayRef<llvm::Value *> Arguments,
                              llvm::Instruction &Before) const;
  void replace(llvm::CallBase &Call, llvm::StringRef Name) const;
  void guardVanishing() const;

  /// A call of free, and all allocations whose blocks may reach it.
  struct Free {
    llvm::CallBase *Call;
    llvm::SmallVector<llvm::CallBase *, 2> Sources;
    /// True if the call may also get a pointer that comes from none of these
    /// allocations.
    bool IsMixed;
  };

  FunctionState &Here;
  llvm::SmallVector<llvm::CallBase *, 4> Pooled;
  llvm::SmallVector<Free, 4> Frees;
  llvm::SmallPtrSet<const llvm::CallBase *, 4> OwnRuns;
  llvm::DenseMap<const llvm::CallBase *, llvm::StringRef> WhyNot;
  llvm::AllocaInst *Pool = nullptr;
};

/// Adds the definitions that rewritten code refers to. Returns false if it
/// refers to none. Call once per module, last.
bool linkPoolFallback(llvm::Module &M);

} // namespace vfriendly

#endif
