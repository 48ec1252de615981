//===- SpinLoop.h - Recognition of waiting loops ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop waits if it has an exit that only other threads can cause. It may also
// count, read a clock, or call functions that WaitNeutral.h accepts. It has no
// effect outside of the loop, except by a failed read-modify-write.
//
//   if (std::optional<SpinLoop> Spin = judgeLoop(Shape, Function, Functions))
//   ...
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_SPINLOOP_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_SPINLOOP_H

#include "checkers/spin-loops/Causes.h"
#include "passes/common/SpinKind.h"

#include <memory>
#include <string>

namespace vfriendly::tidy {

struct SpinLoop {
  LoopShape Shape;
  SpinKind Kind = SpinKind::Flag;
  /// The polls on which the waiting exits depend; the report names the first.
  llvm::SmallVector<Poll, 2> Polls;
  /// True if the loop also has an exit that does not need another thread: a
  /// counter or a clock.
  bool Counts = false, ReadsClock = false;
  /// The spin hints that the loop already contains.
  bool Pauses = false, Yields = false, Sleeps = false;
  /// An unproved assumption of the report, if any. A loop with a doubt is never
  /// changed.
  std::string Doubt;
  /// The read-modify-writes by which the outer loop tries to take the lock that
  /// this loop waits for.
  llvm::SmallVector<const clang::Stmt *, 2> OuterTries;
  /// The facts of the loop. They own the frames to which the expressions above
  /// refer.
  std::unique_ptr<LoopFacts> Facts;

  bool isPlain() const;
  bool handsOverInOrder() const {
    return Kind == SpinKind::Ticket || Kind == SpinKind::Queue;
  }
  /// Returns the poll of the object, if the loop polls only one; if the loop
  /// both reads this object and tries to change it, the read. Returns null if
  /// the loop polls several objects, or if the source cannot name the object.
  const Poll *uniquePoll() const;
};

/// Returns a description of the loop if the loop is a wait; else nothing. pre:
/// Function is a definition. Dependent expressions count as unknown.
std::optional<SpinLoop> judgeLoop(const LoopShape &Shape,
                                  const clang::FunctionDecl &Function,
                                  FunctionFacts &Functions);

} // namespace vfriendly::tidy

#endif
