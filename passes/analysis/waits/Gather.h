//===- Gather.h - Facts about a loop in LLVM IR -----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Gathered G = gather(L, Around);
//   Verdict V = judge(G.Of);
//
// LLVM's LoopInfo, dominator tree and ValueTracking are used as they are. The
// causes of a value (Causes.h) are not taken from ScalarEvolution, which gives
// up at loads, nor from MemorySSA and LazyValueInfo: these say what this thread
// may change, and the question is what other threads may change.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_GATHER_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_GATHER_H

#include "passes/analysis/waits/Facts.h"
#include "passes/analysis/waits/SpinLoops.h"

namespace vfriendly {

/// The function around the loops, and what is known of it.
struct Surroundings {
  Surroundings(llvm::LoopInfo &LI, const llvm::DominatorTree &DT,
               VariableFacts &Variables)
      : LI(LI), DT(DT), Variables(Variables) {}

  llvm::LoopInfo &LI;
  const llvm::DominatorTree &DT;
  VariableFacts &Variables;
  /// The spin loops found so far: those inside the next loop.
  SpinLoopInfo Inner;
  /// Whether a block, or a block that dominates it, increments or decrements
  /// memory.
  llvm::DenseMap<const llvm::BasicBlock *, bool> Counted;
};

/// The facts about a loop, and the IR for which they stand.
struct Gathered {
  Facts Of;
  /// The accesses, in the order of Of.Polls.
  llvm::SmallVector<Poll, 2> Polls;
  /// A function that the loop calls and whose effect is known only from the
  /// summary file; empty if there is none.
  std::string Summarized;
  /// True if iterations that find something give no hint.
  bool FindsWork = false;
};

/// Gathers the facts about L. Stops after a stage if a rule rejects the loop.
/// pre: Around.Inner has the spin loops inside L.
Gathered gather(llvm::Loop &L, Surroundings &Around);

/// One condition of a loop exit. The loop continues if Condition has the value
/// StaysIf.
struct ExitLeaf {
  llvm::Value *Condition;
  bool StaysIf;
};

/// Splits the condition of an exit into parts each of which can end the loop
/// alone: `continue if A && B` into A and B. `continue if A || B` is not split.
llvm::SmallVector<ExitLeaf, 4> leavesOf(llvm::Value *Condition, bool StaysIf);

/// Returns true if I, an instruction of L, may have an effect that is visible
/// outside the loop, other than a failed read-modify-write.
bool mayHaveEffect(const llvm::Instruction &I, const llvm::Loop &L,
                   const llvm::LoopInfo &LI);

} // namespace vfriendly

#endif
