//===- SpinLoopAnalysis.h - Which loops wait, and for what ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop waits if it has an exit that only others can cause. It may also count,
// read a clock, or call functions that do not matter to a wait (pause, yield,
// sleeps, trylock: WaitNeutral.def); it has no effect outside, except a failed
// read-modify-write. What cannot be shown to have none, but gives a hint in
// each iteration, is found too, with a doubt: to be reported, never rewritten.
//
//   for (const SpinLoop &S : FAM.getResult<SpinLoopAnalysis>(F).Loops) ...
//
// `opt -passes='print<vf-spin-loops>'` prints the result.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_SPINLOOPANALYSIS_H
#define VFRIENDLY_PASSES_SPINLOOPS_SPINLOOPANALYSIS_H

#include "passes/common/SpinKind.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/AtomicOrdering.h"

#include <string>

namespace vfriendly {

/// One access whose value decides whether the wait is over.
struct Poll {
  /// A load, atomicrmw, cmpxchg, or a call (inline assembly or a trylock).
  llvm::Instruction *Access;
  /// Null for a call whose memory is not ours to look into, a trylock's.
  llvm::Value *Address;
  /// Width in bytes; 0 where there is no single access to tell it.
  unsigned Size;
  llvm::AtomicOrdering Ordering;
  bool Volatile;
  bool ReadModifyWrite;
  /// Only tells where another poll is: p in `while (!p->flag)`.
  bool OnlyLocates;
  /// At several addresses in each iteration.
  bool Varies = false;

  bool isPlain() const {
    return Ordering == llvm::AtomicOrdering::NotAtomic && !Volatile &&
           !ReadModifyWrite && Address;
  }
};

struct SpinLoop {
  llvm::Loop *L;
  SpinKind Kind;
  llvm::SmallVector<Poll, 2> Polls;
  /// Has an exit of its own as well: a counter or a clock.
  bool Bounded = false;
  /// Looks only when its counter says so, now and then.
  bool Gated = false;
  /// What its counter is compared with, if that is a constant; else 0.
  uint64_t Bound = 0;
  /// What the author already put in.
  bool Pauses = false, Yields = false, Sleeps = false;
  bool hints() const { return Pauses || Yields || Sleeps; }
  /// Why it may be more than a wait, though its author says by a hint in each
  /// iteration that it waits; empty where that is proved.
  std::string Doubt;

  /// The poll a waiter would block on, or null if there is none or more than
  /// one address to choose from.
  const Poll *uniquePoll() const;
};

struct SpinLoopInfo {
  /// Inner loops before the loops around them.
  llvm::SmallVector<SpinLoop, 1> Loops;
};

/// What all uses of a variable tell, looked at once: a module may have as many
/// waits for one variable as that has uses. Valid until a use is added.
struct VariableFacts {
  llvm::DenseMap<const llvm::GlobalVariable *, bool> NeverWritten, Exchanged;
};

/// Finds the spin loops of one loop nest's worth of code, without calls into
/// bodies: what small functions hide must be inlined first (Expose.h).
SpinLoopInfo findSpinLoops(llvm::Function &F, llvm::LoopInfo &LI,
                           const llvm::DominatorTree &DT,
                           VariableFacts &Variables);

/// Analysis pass over findSpinLoops.
class SpinLoopAnalysis : public llvm::AnalysisInfoMixin<SpinLoopAnalysis> {
public:
  using Result = SpinLoopInfo;
  Result run(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

private:
  friend llvm::AnalysisInfoMixin<SpinLoopAnalysis>;
  static llvm::AnalysisKey Key;
};

/// print<vf-spin-loops>: one line a loop.
class SpinLoopPrinterPass : public llvm::PassInfoMixin<SpinLoopPrinterPass> {
  llvm::raw_ostream &OS;

public:
  explicit SpinLoopPrinterPass(llvm::raw_ostream &OS) : OS(OS) {}
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
  static bool isRequired() { return true; }
};

} // namespace vfriendly

#endif
