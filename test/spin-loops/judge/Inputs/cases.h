//===- cases.h - Facts written by hand, and what is expected ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_TEST_SPIN_LOOPS_JUDGE_CASES_H
#define VFRIENDLY_TEST_SPIN_LOOPS_JUDGE_CASES_H

#include "passes/analysis/waits/Judge.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace vfriendly::test {

using namespace llvm;

inline unsigned Failures = 0;
/// The rules that have a case.
inline StringSet<> Seen;

inline void expect(bool Holds, const Twine &What) {
  if (Holds)
    return;
  ++Failures;
  errs() << "FAIL: " << What << '\n';
}

using Change = function_ref<void(Facts &)>;

/// while (!atomic_load(&flag));
inline Facts flagWait() {
  Facts F;
  F.Exits.resize(1);
  F.Exits[0].Whole.Causes = Polled;
  F.Polls.resize(1);
  return F;
}

/// while (!atomic_load(&flag)) pause();
inline Facts pausingWait() {
  Facts F = flagWait();
  F.Pauses = true;
  F.Rhythm = HintRhythm::Pauses;
  return F;
}

inline Facts with(Facts F, Change Do) {
  Do(F);
  return F;
}

inline Leaf exitBy(CauseSet Causes, uint64_t Bound = 0) {
  Leaf E;
  E.Whole.Causes = Causes;
  E.Whole.Bound = Bound;
  return E;
}

inline Effect effect(Effect::Trace Leaves) {
  Effect E;
  E.Leaves = Leaves;
  return E;
}

inline void rejects(StringRef Rule, const Facts &Base, Change Do, Change Near) {
  Seen.insert(Rule);
  Verdict V = judge(with(Base, Do));
  expect(!V.Waits && V.By == Rule, Rule + " must reject, but the verdict is " +
                                       (V.Waits ? "a wait" : V.By));
  V = judge(with(Base, Do), Rule);
  expect(V.Waits, "without " + Rule + ", " + V.By + " still rejects");
  V = judge(with(Base, Near));
  expect(V.Waits, Rule + ": its twin is rejected by " + V.By);
}

inline void doubts(StringRef Rule, StringRef Text, Change Do, Change Near) {
  Seen.insert(Rule);
  Verdict V = judge(with(pausingWait(), Do));
  expect(V.Waits && V.Doubt == Text,
         Rule + " must doubt, but says '" + V.Doubt + "' " + V.By);
  V = judge(with(pausingWait(), Near));
  expect(V.Doubt != Text, Rule + ": its twin is doubted too");
}

inline void isOfKind(SpinKind Kind, Change Do) {
  Verdict V = judge(with(flagWait(), Do));
  expect(V.Waits && V.Kind == Kind, "the kind is " + toString(V.Kind) +
                                        ", not " + toString(Kind) + " " + V.By);
}

// verdicts.cpp
void lattice();
void exits();
void stages();

} // namespace vfriendly::test

#endif
