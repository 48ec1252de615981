//===- Remarks.h - Remarks about decisions ----------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_REMARKS_H
#define VFRIENDLY_PASSES_SPINLOOPS_REMARKS_H

#include "passes/analysis/waits/BoundedSpin.h"
#include "passes/analysis/waits/SpinLoopAnalysis.h"

#include <optional>

namespace llvm {
class CallBase;
class CallInst;
class OptimizationRemarkEmitter;
} // namespace llvm

namespace vfriendly {

/// The action that the pass takes on one loop. If this action does less than
/// the selected mode asks for, Why is the reason.
struct Decision {
  enum {
    Leave,
    Pause,
    Wait,
    WaitBounded,
    WaitUntil,
    WaitAwake,
    GiveWay
  } Action;
  llvm::StringRef Why;
  /// Set for WaitBounded.
  std::optional<BoundedPlan> Plan = std::nullopt;

  bool waits() const { return Action != Leave && Action != Pause; }
  /// Returns true if it may sleep, so that the writers should notify it.
  bool maySleep() const { return Action == Wait || Action == WaitBounded; }
};

/// Emits the remark for a loop: its kind, the action taken, and the reason if
/// the pass does less than the mode asks for.
void sayDecision(llvm::OptimizationRemarkEmitter &ORE, const SpinLoop &S,
                 const Decision &D);

/// Emits the remark that the program should be linked with libvfrt. Called once
/// per module, for S, its first loop that calls the runtime.
void sayNeedsRuntime(llvm::OptimizationRemarkEmitter &ORE, const SpinLoop &S);

/// Emits a remark that F is unoptimized: every value is in memory, so waits
/// cannot be distinguished from work.
void sayUnoptimized(llvm::OptimizationRemarkEmitter &ORE, llvm::Function &F);

/// Emits the remark that no writer notifies this wait, because ThinLTO shows
/// the pass one module at a time and the writers are in others.
void sayOutOfSight(llvm::OptimizationRemarkEmitter &ORE,
                   const llvm::CallInst &Wait);

/// Emits the remark that code which does not notify may end this wait. It has a
/// name of its own, vf-spin-notify, because it is true of most waits.
void sayOthersMayEnd(llvm::OptimizationRemarkEmitter &ORE,
                     const llvm::CallInst &Wait);

/// Emits the remark that the lock for which this wait waits is held during a
/// call that may sleep. It has a name of its own, vf-spin-held.
void sayHeld(llvm::OptimizationRemarkEmitter &ORE, const llvm::CallInst &Wait,
             const llvm::CallBase &Long);

} // namespace vfriendly

#endif
