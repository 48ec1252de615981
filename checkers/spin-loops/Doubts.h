//===- Doubts.h - Effects that a waiting loop may have ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   DoubtJudge Doubts(Facts, Finder);
//   ... judge the exits, with Doubts.isUndone(Rmw) ...
//   if (!Doubts.tolerates(Polls, hintsOfIterations(Shape, Facts))) ... not a
//   wait
//
// A spin loop in real code may also write logs, count, or call virtual
// functions. Such an effect is called a doubt. If the loop pauses in every
// iteration, its doubts are tolerated: it is reported as a wait, without a
// fix-it, and the report states the assumption. Otherwise it is not reported as
// a wait.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_DOUBTS_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_DOUBTS_H

#include "checkers/spin-loops/Causes.h"
#include "checkers/spin-loops/IterationHints.h"

#include <string>

namespace vfriendly::tidy {

/// Returns true if an effect in Facts shows that the loop is no wait, whatever
/// the loop polls. This test is cheaper than DoubtJudge::tolerates.
bool areHopeless(const LoopFacts &Facts);

class DoubtJudge {
public:
  DoubtJudge(const LoopFacts &Facts, CauseFinder &Finder);

  /// Returns true if R and another operation of the same iteration undo each
  /// other.
  bool isUndone(const Rmw &R) const { return Undone.contains(&R); }

  /// Returns true if the loop is a wait in spite of its doubts. pre: Polls are
  /// those on which the loop's waiting exits depend; MayStore is set for kinds
  /// of wait that store, such as a seqlock's reader; IsBounded is set if the
  /// loop counts its iterations.
  bool tolerates(llvm::ArrayRef<Poll> Polls, const IterationHints &Given,
                 bool MayStore, bool IsBounded);

  /// The assumption under which the loop is a wait, for the report; empty if
  /// there is none.
  const std::string &text() const { return Text; }

private:
  bool toleratesOne(const Doubt &D, llvm::ArrayRef<Poll> Polls,
                    const IterationHints &Given);
  bool isGuarded(const Doubt &D, const IterationHints &Given);
  bool reachesLimit(const Guard &G);
  void findRetracted();
  void rely(const llvm::Twine &On);

  const LoopFacts &Facts;
  CauseFinder &Finder;
  llvm::SmallPtrSet<const Rmw *, 4> Undone;
  llvm::SmallPtrSet<const Doubt *, 4> Retracted;
  std::string Text;
};

} // namespace vfriendly::tidy

#endif
