//===- Judge.h - Verdict on a loop that may wait ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop waits if it has an exit that only other threads can cause. It may also
// count, read a clock, or call functions that leave no trace (pause, yield,
// sleeps, trylock). It has no effect outside of the loop, except by a failed
// read-modify-write. A loop that gives a spin hint in each iteration but may
// have other effects is accepted with a doubt: it is reported, and keeps all
// its iterations.
//
//   Verdict V = judge(F);
//   if (!V.Waits)
//     OS << "no wait by the rule " << V.By;
//
// The rules stand in Judge.cpp. Both files use no IR: they need only LLVM's
// support library.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_JUDGE_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_JUDGE_H

#include "passes/analysis/common/SpinKind.h"
#include "passes/analysis/waits/Facts.h"

#include "llvm/ADT/StringRef.h"

namespace vfriendly {

struct Verdict {
  bool Waits = true;
  /// The rule that rejects the loop; empty if it waits.
  llvm::StringRef By;
  /// The kind of the wait, if the facts are complete.
  SpinKind Kind = SpinKind::Flag;
  /// True if the loop also has an exit that does not need another thread: a
  /// counter or a clock.
  bool Bounded = false;
  /// True if only a clock bounds it.
  bool ByClock = false;
  /// True if it polls only in some iterations, which its counter selects.
  bool Gated = false;
  /// True if it also looks at several words in turn, so that a sleep would
  /// delay what it finds in them.
  bool InTurn = false;
  /// The constant that the loop's counter is compared with, or 0.
  uint64_t Bound = 0;
  /// The reason why the loop is not proved to be a wait; empty if it is proved.
  std::string Doubt;
  /// True if all doubts are about functions that give a hint by their names.
  bool DoubtsHints = false;
  /// True if only names tell that the loop does not work: it is reported, and
  /// not rewritten.
  bool ByName = false;
};

/// Judges the loop that F describes. If F.Known is not the last stage, applies
/// only the rules that need no more than what is known, so that the gatherer
/// can stop at a loop that is rejected: a verdict that the loop waits may still
/// change then. Ignores the rule named Without, to show what the rule is worth.
Verdict judge(const Facts &F, llvm::StringRef Without = "");

/// Returns the names of all rules.
llvm::SmallVector<llvm::StringRef, 0> ruleNames();

} // namespace vfriendly

#endif
