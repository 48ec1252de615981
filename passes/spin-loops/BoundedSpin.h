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
// The count is a limit of time: iterations in which the poll fails are all
// alike. Such iterations may be executed at once, each reading what the last
// poll read, and the time they would have taken may be given to other threads.
// planBoundedSpin proves that a loop has this form; emitBoundedWait skips
// iterations:
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
// If an iteration reads several words, the first of them may have changed when
// the last is read, and the next iteration would have to see that. So all words
// are read once more before the call. If one is not as the last iteration found
// it, there is no call, and a block of polls follows. Otherwise all words had
// the values of the failed poll at one time: when its last word was read, or
// when the first was read again. The skipped iterations may have been executed
// then, and all of them fail. Words that change and change back around both
// reads look unchanged; as failed iterations are alike, the skipped ones may
// then have been executed in any earlier poll of the block.
//
// The copy executes only iterations in which no test of a counter ends the
// loop, so it omits these tests. The loop as written executes the iteration in
// which one of them ends it, so the order of tests, the final values and the
// exits are unchanged.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_BOUNDEDSPIN_H
#define VFRIENDLY_PASSES_SPINLOOPS_BOUNDEDSPIN_H

#include "passes/spin-loops/LoopJudge.h"
#include "passes/spin-loops/SpinLoopAnalysis.h"

#include "llvm/Analysis/ScalarEvolution.h"

#include <optional>

namespace vfriendly {

/// How iterations of a loop may be skipped. Valid while the loop and its
/// function's ScalarEvolution are unchanged.
struct BoundedPlan {
  /// Header phis whose value is start + iteration * step.
  llvm::SmallVector<std::pair<llvm::PHINode *, const llvm::SCEV *>, 2> Counters;
  /// Conditions on counters that keep the loop running before iteration Bound.
  llvm::SmallVector<ExitLeaf, 2> Tests;
  /// The first iteration, counted from 0, in which one of Tests ends the loop.
  const llvm::SCEV *Bound = nullptr;
  /// The reads of each iteration, in their order, if there are several.
  llvm::SmallVector<llvm::LoadInst *, 2> Reads;
  /// Number of failed polls before the first call of a wait.
  unsigned FirstPolls = 0;
  /// Number of polls in a block, or 1. LLVM unrolls a loop with a constant
  /// bound, but not a copy with a variable limit, so each block is a loop of a
  /// constant number of iterations.
  unsigned Block = 1;

  /// A poll takes as long as a PAUSE, not a cycle.
  bool SlowPolls = false;

  /// Returns true if the bound is a constant that the loop reaches in less time
  /// than a context switch takes: there is nothing to give to other threads.
  bool isSmall() const;
};

/// Returns how iterations of S may be skipped; if they may not, Why is the
/// reason.
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
