//===- Rewrite.h - Rewrites of heap allocations -----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy in HeapChurnPass.cpp tries the rewrites one after the other:
//
//   StringRef Why = whyNotHoist(A, L, Here);
//   if (Why.empty()) { ... say so ...; hoist(A, L, Here); }
//
// Why completes a remark after "kept: "; the string has static lifetime. Each
// rewrite updates the analyses of Here, or marks Here stale.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_REWRITE_H
#define VFRIENDLY_PASSES_HEAPCHURN_REWRITE_H

#include "passes/analysis/heap/Allocation.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/PassManager.h"

#include <cstdint>

namespace llvm {
class AllocaInst;
class DominatorTree;
class Function;
class Instruction;
class Loop;
class LoopInfo;
class PostDominatorTree;
class TargetLibraryInfo;
} // namespace llvm

namespace vfriendly {

/// Analyses and state of a function while it is rewritten.
struct FunctionState {
  FunctionState(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

  llvm::Function &F;
  const llvm::TargetLibraryInfo &TLI;
  llvm::DominatorTree &DT;
  llvm::LoopInfo &LI;
  /// Number of analysis steps done for this function, limited by MaxWork in
  /// Hoist.cpp.
  mutable size_t Work = 0;
  /// Instructions in loops at which control may leave the function other than
  /// by a return (mayLeave).
  llvm::SmallPtrSet<const llvm::Instruction *, 16> Vanishing;
  /// Variables of rewrites to promote to registers when F is done. Promotion
  /// walks all of F, whether for one variable or for all.
  llvm::SmallVector<llvm::AllocaInst *, 8> Promoted;
  bool IsChanged = false;
  /// True if DT and LI are out of date, so that the caller must create a new
  /// view.
  bool IsStale = false;
};

/// Finds the instructions at which control may leave the function, and stores
/// them in Here.Vanishing.
void findVanishing(FunctionState &Here);

/// Returns the size of A if it is constant and small enough for a stack frame,
/// else 0.
uint64_t stackSize(const Allocation &A, const FunctionState &Here);

/// Replaces the block of A by an alloca in the entry block of the function, and
/// deletes A.Call and the calls that free the block.
///
/// pre: stackSize(A) != 0.
void moveToStack(const Allocation &A, uint64_t Size, FunctionState &Here);

/// Returns why all iterations of L cannot share one block for A, which L
/// allocates and frees in each iteration; empty if they can.
///
/// pre: A.Known, and L contains A.Call.
llvm::StringRef whyNotHoist(const Allocation &A, const llvm::Loop &L,
                            const FunctionState &Here);

/// Gives L a preheader and dedicated exits. Returns false if that is
/// impossible.
bool prepareHoist(llvm::Loop &L, FunctionState &Here);

/// Makes A.Call reuse the block of an earlier iteration of L: A.Call then
/// allocates only in its first execution, or when a larger block is needed.
/// Frees the block where control leaves L, and deletes the frees in L.
///
/// pre: whyNotHoist has returned an empty string, and prepareHoist true.
void hoist(const Allocation &A, llvm::Loop &L, FunctionState &Here);

/// Returns an earlier place to free A, if code that may take long runs between
/// that place and the current call of free; null if there is no such place or
/// no such code.
///
/// pre: A.Known.
llvm::Instruction *earlierFree(const Allocation &A,
                               const llvm::PostDominatorTree &PDT,
                               const FunctionState &Here);

/// Moves the free of A to At.
///
/// pre: At was returned by earlierFree.
void freeEarlier(const Allocation &A, llvm::Instruction &At,
                 FunctionState &Here);

} // namespace vfriendly

#endif
