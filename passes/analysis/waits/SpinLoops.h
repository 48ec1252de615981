//===- SpinLoops.h - Waiting loops of a function ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about each loop are gathered (Gather.h) and judged (Judge.h):
//
//   VariableFacts Variables;
//   for (const SpinLoop &S :
//        findSpinLoops(LI.getLoopsInPreorder(), LI, DT, Variables).Loops) ...
//
// This folder contains no rewriting and nothing of the plugin or of clang, so
// that the pass, the clang-tidy check and MLIR can all ask it.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_SPINLOOPS_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_SPINLOOPS_H

#include "passes/analysis/waits/Judge.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Support/AtomicOrdering.h"

#include <string>

namespace llvm {
class CallBase;
class DominatorTree;
class GlobalVariable;
class Instruction;
class Value;
} // namespace llvm

namespace vfriendly {

/// One access whose value decides whether the wait is over.
struct Poll {
  /// A load, atomicrmw, cmpxchg, or a call (inline assembly or a trylock).
  llvm::Instruction *Access;
  /// Null for a call whose memory is opaque: a trylock, a function of another
  /// unit.
  llvm::Value *Address;
  /// Width in bytes; 0 for a call or a scalable vector.
  unsigned Size;
  llvm::AtomicOrdering Ordering;
  bool Volatile;
  bool ReadModifyWrite;
  /// True if the value is used only to compute the address of another poll: p
  /// in `while (!p->flag)`.
  bool OnlyLocates;
  /// Each iteration polls several addresses.
  bool Varies = false;
  /// The call of the loop that writes the polled local variable, if any.
  llvm::CallBase *FilledBy = nullptr;

  bool isPlain() const {
    return Ordering == llvm::AtomicOrdering::NotAtomic && !Volatile &&
           !ReadModifyWrite && Address;
  }
};

/// A loop that waits, and the verdict on it.
struct SpinLoop : Verdict {
  llvm::Loop *L;
  llvm::SmallVector<Poll, 2> Polls;
  /// Hints that the source already has.
  bool Pauses = false, Yields = false, Sleeps = false;
  bool hints() const { return Pauses || Yields || Sleeps; }
  /// True if each iteration that is followed by another one gives a hint, and
  /// the loop has hints of its own beside those of waits in it.
  bool AlwaysHints = false;
  /// True if each iteration takes and releases a lock: polling plain memory
  /// with the lock held is no data race.
  bool Locks = false;

  /// A function that the loop calls and whose effect is known only from the
  /// summary file; empty if there is none. The file may be out of date, so
  /// calls may be inserted into the loop, but no iterations may be skipped.
  std::string Summarized;

  /// Returns the poll on whose address a waiter can block; null if the loop
  /// polls no known address or more than one.
  const Poll *uniquePoll() const;
};

struct SpinLoopInfo {
  /// The spin loops of the function, inner loops before the loops around them.
  llvm::SmallVector<SpinLoop, 1> Loops;
};

/// Facts about global variables. They are cached because each takes a walk over
/// all uses of a variable, and many loops may poll one variable. Valid until a
/// use is added.
struct VariableFacts {
  llvm::DenseMap<const llvm::GlobalVariable *, bool> NeverWritten, Exchanged;
};

/// Finds the spin loops among Among, which are in preorder, with all loops
/// inside them. Of called functions only atomic operations and what they return
/// are examined: small ones must be inlined first (Expose.h).
SpinLoopInfo findSpinLoops(llvm::ArrayRef<llvm::Loop *> Among,
                           llvm::LoopInfo &LI, const llvm::DominatorTree &DT,
                           VariableFacts &Variables);

} // namespace vfriendly

#endif
