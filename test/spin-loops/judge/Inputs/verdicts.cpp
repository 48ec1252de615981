//===- verdicts.cpp - Causes, exits and stages ---------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/spin-loops/judge/Inputs/cases.h"

namespace vfriendly::test {

void lattice() {
  expect(waitsForOthers(Polled), "a polled value waits");
  expect(waitsForOthers(Polled | Inner), "an inner loop restarts");
  expect(!waitsForOthers(0), "nothing to wait for");
  for (CauseSet C : {Own, Rotates, InTurn, Clock, Walks}) {
    expect(!waitsForOthers(Polled | C), "the loop changes it by itself");
    expect(!isFixed(C), "the loop changes it");
  }
  expect(isFixed(0) && isFixed(Inner) && !isFixed(Polled), "fixed values");
}

void exits() {
  Verdict V = judge(flagWait());
  expect(V.Waits && !V.Bounded && !V.Gated && V.Bound == 0 && V.Doubt.empty(),
         "a flag's poll is proved");
  auto Bounded = [](CauseSet C) {
    return with(flagWait(),
                [&](Facts &F) { F.Exits.push_back(exitBy(C, 1000)); });
  };
  expect(judge(Bounded(Own)).Bounded && judge(Bounded(Own)).Bound == 1000,
         "bounded by a counter");
  expect(judge(Bounded(Clock)).Bounded && judge(Bounded(Clock)).Bound == 0,
         "bounded by a clock");
  expect(judge(Bounded(Rotates)).Bounded, "bounded by a counter that wraps");
  expect(!judge(Bounded(InTurn)).Bounded, "words in turn are no bound");
  expect(judge(Bounded(Clock)).ByClock, "only a clock bounds it");
  for (CauseSet C : {CauseSet(Own), Clock | Own, Clock | Inner})
    expect(!judge(Bounded(C)).ByClock, "more than a clock bounds it");
  Facts Largest = Bounded(Own);
  Largest.Exits.push_back(exitBy(Own, 7));
  expect(judge(Largest).Bound == 1000, "the largest bound counts");
  // if (++i % 64 == 0 && flag) break;
  Facts Gated;
  Gated.Exits.push_back(exitBy(Own | Polled));
  Gated.Exits[0].Parts.resize(2);
  Gated.Exits[0].Parts[0].Causes = Own;
  Gated.Exits[0].Parts[1].Causes = Polled;
  Gated.Polls.resize(1);
  expect(judge(Gated).Waits && judge(Gated).Gated && judge(Gated).Bounded,
         "gated by a counter");
  Gated.Exits[0].Parts[1].Causes = Polled | Clock;
  expect(!judge(Gated).Waits, "no part waits for others");
}

/// Facts that are not known yet must not be asked for, whatever they are.
void stages() {
  Facts F;
  F.Known = Stage::Effects;
  expect(judge(F).Waits, "the exits are not known in the first stage");
  for (auto Set :
       {+[](Facts &F) { F.Exits[0].RepeatsInterrupted = true; },
        +[](Facts &F) { F.Exits.push_back(exitBy(Walks)); },
        +[](Facts &F) { F.Polls[0].SuccessGoesOn = true; },
        +[](Facts &F) { F.Polls[0].Plain = F.Polls[0].Varies = true; },
        +[](Facts &F) {
          F.Polls[0].Plain = true;
          F.Exits.push_back(exitBy(Own));
        },
        +[](Facts &F) { F.PollsInTurn = true; }}) {
    F = with(flagWait(), Set);
    F.Known = Stage::Effects;
    Verdict V = judge(F);
    expect(V.Waits && V.Doubt.empty(), V.By + " is not known in stage 1");
    F.Known = Stage::Exits;
    V = judge(F);
    expect(!V.Waits || !V.Doubt.empty(), "it is known in the second stage");
  }
  F = with(pausingWait(), [](Facts &F) {
    // Which of the effects are rare or polled by, is found in the third stage.
    F.Effects = {effect(Effect::Calls), effect(Effect::Work)};
  });
  F.Known = Stage::Exits;
  expect(judge(F).Waits && judge(F).Doubt.empty(), "stage 3 in stage 2");
  F = with(pausingWait(), [](Facts &F) {
    F.Polls[0].How = PollFact::Call;
    F.Exits.push_back(exitBy(Own));
  });
  F.Known = Stage::Progress;
  expect(judge(F).Waits, "whose hints it gives is found in the last stage");
}

} // namespace vfriendly::test
