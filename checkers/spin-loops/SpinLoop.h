//===- SpinLoop.h - Which loops wait, and for what --------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop waits if it has an exit that only others can cause. It may also count,
// read a clock, or call functions that do not matter to a wait; it has no
// effect outside, except a failed read-modify-write.
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
  /// What the waiting exits depend on; the first is what the report names.
  llvm::SmallVector<Poll, 2> Polls;
  /// Has an exit of its own as well.
  bool Counts = false, ReadsClock = false;
  /// What the author already put in.
  bool Pauses = false, Yields = false, Sleeps = false;
  /// What the report relies on besides what was seen. Where there is a doubt,
  /// nothing is changed.
  std::string Doubt;
  /// The tries of the lock whose waiting this loop does, if there is one.
  llvm::SmallVector<const clang::Stmt *, 2> OuterTries;
  /// Keeps the expressions' frames.
  std::unique_ptr<LoopFacts> Facts;

  bool isPlain() const;
  bool handsOverInOrder() const {
    return Kind == SpinKind::Ticket || Kind == SpinKind::Queue;
  }
  /// The poll to block on: the only one, or the reads among tries of one
  /// object. Null if there are several, or none that can be named.
  const Poll *uniquePoll() const;
};

/// pre: Function is a definition that is not dependent in what matters; what is
/// dependent counts as unknown.
std::optional<SpinLoop> judgeLoop(const LoopShape &Shape,
                                  const clang::FunctionDecl &Function,
                                  FunctionFacts &Functions);

} // namespace vfriendly::tidy

#endif
