//===- Remarks.h - What is said about a decision ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_REMARKS_H
#define VFRIENDLY_PASSES_SPINLOOPS_REMARKS_H

#include "passes/spin-loops/BoundedSpin.h"
#include "passes/spin-loops/SpinLoopAnalysis.h"

#include <optional>

namespace llvm {
class CallInst;
class OptimizationRemarkEmitter;
} // namespace llvm

namespace vfriendly {

/// What is done about one loop, and the reason where it is less than asked.
struct Decision {
  enum { Leave, Pause, Wait, WaitBounded } Action;
  llvm::StringRef Why;
  /// Of WaitBounded.
  std::optional<BoundedPlan> Plan = std::nullopt;

  bool waits() const { return Action == Wait || Action == WaitBounded; }
};

/// One remark a loop: what it is, what is done about it, and why no more.
void sayDecision(llvm::OptimizationRemarkEmitter &ORE, const SpinLoop &S,
                 const Decision &D);

/// Once a module in which S is the first to wait.
void sayNeedsRuntime(llvm::OptimizationRemarkEmitter &ORE, const SpinLoop &S);

/// Without optimization every value lives in memory, and no wait can be told
/// from work.
void sayUnoptimized(llvm::OptimizationRemarkEmitter &ORE, llvm::Function &F);

/// Of a wait that nobody notifies, at ThinLTO.
void sayOutOfSight(llvm::OptimizationRemarkEmitter &ORE,
                   const llvm::CallInst &Wait);

} // namespace vfriendly

#endif
