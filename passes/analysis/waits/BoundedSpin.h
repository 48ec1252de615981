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
// All iterations whose poll fails have the same effect, so the count only
// limits the waiting time. The rewritten loop may therefore skip iterations, as
// if each of them had read the value that the last poll read, and let other
// threads run for the time that the skipped iterations would have taken.
// planBoundedWait proves that a loop has this form; emitBoundedWait rewrites
// it:
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
// If an iteration reads several words, the first word may change before the
// last word is read, and the next iteration would have to see that change. So
// the rewritten loop reads all words once more before the call. If a word
// differs from its value in the last iteration, the loop does not call the
// runtime but executes another block of polls. Otherwise there was a time,
// between the last read of the failed poll and the first of the repeated reads,
// at which all words had the values that the poll read. At that time the
// skipped iterations may have been executed, and all of them would have failed.
// This comparison does not notice a word that changes and changes back between
// the two reads. The skipped iterations may then have been executed in any
// earlier poll of the block, because all failed iterations have the same
// effect.
//
// The copy executes only iterations in which no test of a counter ends the
// loop, so it omits these tests. The original loop executes the iteration in
// which one of them ends the loop, so the order of tests, the final values and
// the exits are unchanged.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_BOUNDEDSPIN_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_BOUNDEDSPIN_H

#include "passes/analysis/waits/Gather.h"
#include "passes/analysis/waits/SpinLoopAnalysis.h"

#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/IRBuilder.h"

#include <optional>

namespace vfriendly {

/// How iterations of a loop may be skipped. Valid while the loop and its
/// function's ScalarEvolution are unchanged.
struct BoundedPlan {
  /// Header phis whose value is start + iteration * step.
  llvm::SmallVector<std::pair<llvm::PHINode *, const llvm::SCEV *>, 2> Counters;
  /// Conditions on counters that keep the loop running before iteration Bound.
  llvm::SmallVector<ExitLeaf, 2> Tests;
  /// A number of iterations of which none is ended by one of Tests. The
  /// iteration after them is the first that one ends, except where a counter
  /// wraps.
  const llvm::SCEV *Bound = nullptr;
  /// The largest value that Bound may have.
  uint64_t MaxBound = UINT64_MAX;
  /// The reads of each iteration, in their order, if there are several.
  llvm::SmallVector<llvm::LoadInst *, 2> Reads;
  /// Number of failed polls before the first call of a wait.
  unsigned FirstPolls = 0;
  /// Number of polls in a block; 1 if polls are not grouped. LLVM unrolls a
  /// loop with a constant trip count, but not the rewritten loop, whose limit
  /// is a variable. So the rewritten loop polls in blocks: inner loops with a
  /// constant trip count.
  unsigned Block = 1;

  /// True if one poll takes about as long as a PAUSE instruction, false if it
  /// takes about a cycle.
  bool SlowPolls = false;

  /// Returns true if the loop reaches the bound in less time than a context
  /// switch takes, so that other threads would not gain any time.
  bool isSmall() const;
};

/// Whether a wait that gives up may call the runtime.
struct BoundedWait {
  /// The reason why it must not; empty if it may.
  llvm::StringRef Why;
  /// False if the wait is so short that a spin hint would lengthen it.
  bool MayPause = true;
  /// Set if S gives up after a count and may call the runtime.
  std::optional<BoundedPlan> Plan;
};

/// Decides about S by its count or, if only a clock bounds it, by Deadline.h.
/// pre: S.Bounded.
BoundedWait planBoundedWait(const SpinLoop &S, llvm::ScalarEvolution &SE,
                            const llvm::LoopInfo &LI,
                            const llvm::DominatorTree &DT);

/// Inserts a call of BoundedWaitFunction in F. How lacks VF_SPIN_BLOCK, of
/// which Block is the number of polls. The cost of a poll is measured for this
/// call alone.
llvm::CallInst *emitBoundedCall(llvm::IRBuilder<> &B, llvm::Function &F,
                                llvm::Value *Address, llvm::Value *Observed,
                                llvm::Value *State, uint32_t How,
                                unsigned Block, llvm::Value *Left);

/// Rewrites S to call BoundedWaitFunction between polls; the argument `how` of
/// the call has the bits of Flags. Keeps LI and DT valid. S.L remains the loop
/// as written, and the rewritten loop is a copy. pre: Plan is the result of
/// planBoundedWait for S; canBlock and hasSplittableLatches return true.
llvm::CallInst *emitBoundedWait(const SpinLoop &S, const BoundedPlan &Plan,
                                uint32_t Flags, llvm::ScalarEvolution &SE,
                                llvm::LoopInfo &LI, llvm::DominatorTree &DT);

} // namespace vfriendly

#endif
