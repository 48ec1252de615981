//===- BoundedSpin.h - Waits that give up after a count ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (i = 0; i < n; ++i)
//     if (flag)
//       break;
//
// The count is a budget of time: iterations in which the poll fails differ in
// nothing but their number. Such iterations may be executed all at once, each
// seeing what the last poll saw, and the time that they would have taken may be
// given to other threads. planBoundedSpin proves that a loop is of this form;
// emitBoundedWait takes iterations off its count:
//
//         enter: i = start
//           |  \ fewer iterations than a wait is worth
//           |   `-----------------------------.
//           v                                 |
//        chunk: phis, limit <--------.        |
//           |                        |        |
//           v                        |        |
//        copy: poll ----> exit       |        |
//           |  ^                     |        |
//           v  | below limit         |        |
//        next -'                     |        |
//           | at limit               |        |
//           v                        |        |
//        call: skip = wait(left) ----'        |
//           | none left     i += skip * step  |
//           v                                 v
//        the loop as written: poll, i < n ---> exit
//
// The copy runs only iterations in which the tests of the counters say stay, so
// it has none of them. The loop as written runs the iteration in which one of
// them ends it: order of tests, final values and exits are the author's.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_BOUNDEDSPIN_H
#define VFRIENDLY_PASSES_SPINLOOPS_BOUNDEDSPIN_H

#include "passes/spin-loops/LoopJudge.h"
#include "passes/spin-loops/SpinLoopAnalysis.h"

#include "llvm/Analysis/ScalarEvolution.h"

#include <optional>

namespace vfriendly {

/// How iterations are taken off a loop's count. Valid while the loop and its
/// function's ScalarEvolution are unchanged.
struct BoundedPlan {
  /// Header phis whose value is start + iteration * step.
  llvm::SmallVector<std::pair<llvm::PHINode *, const llvm::SCEV *>, 2> Counters;
  /// Conditions on counters that say stay before iteration Bound.
  llvm::SmallVector<ExitLeaf, 2> Tests;
  /// The first iteration, counted from 0, in which one of Tests ends the loop.
  const llvm::SCEV *Bound = nullptr;
  /// How many failed polls come before the first call of a wait.
  unsigned FirstPolls = 0;
  /// Polls come in blocks of so many, or 1. Where the bound is a constant, LLVM
  /// unrolls the loop, and would not unroll a copy whose limit is not: each
  /// block is a loop of a constant number of iterations.
  unsigned Block = 1;

  /// Returns true if the bound is a constant so small that the loop may end
  /// before a wait would first give way.
  bool isSmall() const;
};

/// Returns how iterations may be taken off S's count; if they may not be, Why
/// says what forbids it.
std::optional<BoundedPlan> planBoundedSpin(const SpinLoop &S,
                                           llvm::ScalarEvolution &SE,
                                           const llvm::LoopInfo &LI,
                                           const llvm::DominatorTree &DT,
                                           llvm::StringRef &Why);

/// Makes S call BoundedWaitFunction between polls. `how` is emitted with the
/// bits of Flags. Leaves LI and DT valid; S.L is the loop as written.
/// pre: Plan is S's, canBlock, hasSplittableLatches.
llvm::CallInst *emitBoundedWait(const SpinLoop &S, const BoundedPlan &Plan,
                                uint32_t Flags, llvm::ScalarEvolution &SE,
                                llvm::LoopInfo &LI, llvm::DominatorTree &DT);

} // namespace vfriendly

#endif
