//===- Rewrite.h - Heap memory into other places ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One after the other is asked whether it applies (HeapChurnPass.cpp):
//
//   StringRef Why = whyNotHoist(A, L, Here);
//   if (Why.empty()) { ... say so ...; hoist(A, L, Here); }
//
// Why is what a remark says after "kept so, as"; it lives forever. All of them
// leave the analyses of Here as they should be, or make Here stale.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_REWRITE_H
#define VFRIENDLY_PASSES_HEAPCHURN_REWRITE_H

#include "passes/heap-churn/Allocation.h"

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

/// What is known of a function while it is rewritten.
struct FunctionView {
  FunctionView(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

  llvm::Function &F;
  const llvm::TargetLibraryInfo &TLI;
  llvm::DominatorTree &DT;
  llvm::LoopInfo &LI;
  /// How much was looked through: see MaxWork in Hoist.cpp.
  mutable size_t Work = 0;
  /// Where control may leave, of all that is in loops: see mayLeave.
  llvm::SmallPtrSet<const llvm::Instruction *, 16> Vanishing;
  /// Variables of rewrites that become values when F is done: promotion goes
  /// over all of F, whether for one of them or for all.
  llvm::SmallVector<llvm::AllocaInst *, 8> Promoted;
  bool IsChanged = false;
  /// DT and LI no longer hold: make another one.
  bool IsStale = false;
};

/// Fills Vanishing.
void findVanishing(FunctionView &Here);

/// Of a constant size that is small enough for a stack frame; 0 if it is not.
uint64_t stackSize(const Allocation &A, const FunctionView &Here);

/// Of the frame of F, by moveToStack: in this run of the pass, one before it or
/// in a function that was inlined since.
uint64_t movedToFrame(const llvm::Function &F);

/// Into a variable of the entry block. The call and its frees are gone then.
///
/// pre: stackSize(A) != 0.
void moveToStack(const Allocation &A, uint64_t Size, FunctionView &Here);

/// Why the memory of A, which L takes and frees in each iteration, cannot be
/// the same in all of them; empty if it can.
///
/// pre: A.Known, and L contains A.Call.
llvm::StringRef whyNotHoist(const Allocation &A, const llvm::Loop &L,
                            const FunctionView &Here);

/// Gives L one entry, and exits of its own. False if it cannot.
bool prepareHoist(llvm::Loop &L, FunctionView &Here);

/// Takes it when it is needed first, or more is needed than there is, and frees
/// it where L is left. The frees in L are gone then.
///
/// pre: whyNotHoist is empty, and prepareHoist was true.
void hoist(const Allocation &A, llvm::Loop &L, FunctionView &Here);

/// Where A could be freed, if something that may take long lies between that
/// and where it is freed; null if it cannot or need not be freed earlier.
///
/// pre: A.Known.
llvm::Instruction *earlierFree(const Allocation &A,
                               const llvm::PostDominatorTree &PDT,
                               const FunctionView &Here);

/// pre: At is earlierFree's.
void freeEarlier(const Allocation &A, llvm::Instruction &At,
                 FunctionView &Here);

} // namespace vfriendly

#endif
