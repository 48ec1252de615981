//===- judge.cpp - The rules of passes/analysis, on facts written by hand -===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RUN: vf-judge-test
//
// Each case changes the facts of a wait that is proved. It has a twin, the most
// similar facts to which the rule must not apply. A rejection must come from
// the named rule alone: without it, the loop waits. Every rule needs a
// case.
//
//===----------------------------------------------------------------------===//

#include "test/spin-loops/judge/Inputs/cases.h"

using namespace llvm;
using namespace vfriendly;
using namespace vfriendly::test;

namespace {

void rules() {
  // Without a hint, no effect may outlast a failed iteration.
  for (Effect::Trace Leaves :
       {Effect::Succeeds, Effect::Retracts, Effect::Unknown, Effect::Counts,
        Effect::Locally, Effect::Rarely, Effect::Calls})
    for (Effect::Trace Near :
         {Effect::Nothing, Effect::Fails, Effect::TakesBack, Effect::Releases,
          Effect::Keeps})
      rejects(
          "leavesTraces", flagWait(),
          [&](Facts &F) { F.Effects = {effect(Leaves)}; },
          [&](Facts &F) { F.Effects = {effect(Near)}; });
  rejects(
      "leavesTraces", flagWait(),
      [](Facts &F) { // Some iterations give a hint, and it has more effects.
        F.Effects = {effect(Effect::Unknown), effect(Effect::Counts)};
        F.Effects[0].Promised = CallEffect::Pause;
      },
      [](Facts &F) {
        F.Effects = {effect(Effect::Unknown)};
        F.Effects[0].Promised = CallEffect::Pause;
      });
  rejects(
      "leavesTraces", flagWait(),
      [](Facts &F) { F.Effects = {effect(Effect::Counts)}; },
      [](Facts &F) {
        F.Effects = {effect(Effect::Counts)};
        F.Rhythm = HintRhythm::Hints;
      });
  rejects(
      "leavesTraces", flagWait(),
      [](Facts &F) { F.Effects = {effect(Effect::Counts)}; },
      [](Facts &F) { // It yields at times.
        F.Effects = {effect(Effect::Counts)};
        F.Yields = true;
      });
  rejects(
      "endsByItself", flagWait(),
      [](Facts &F) {
        F.Exits.push_back(exitBy(Polled));
        F.Exits[0].RepeatsInterrupted = true;
      },
      [](Facts &) {});
  rejects(
      "endsByItself", pausingWait(),
      [](Facts &F) { F.Exits[0].Whole.Causes = Polled | Own; },
      [](Facts &F) { F.Exits.push_back(exitBy(Polled | Own)); });
  rejects(
      "endsByItself", pausingWait(),
      [](Facts &F) { F.Exits.push_back(exitBy(Polled | Walks)); },
      [](Facts &F) { F.Exits.push_back(exitBy(Polled | InTurn)); });
  rejects(
      "succeedsAndGoesOn", pausingWait(),
      [](Facts &F) { F.Exits[0].Whole.StaysOnSuccess = true; },
      [](Facts &F) { // It does not wait by this exit.
        F.Exits.push_back(exitBy(Own));
        F.Exits[1].Whole.StaysOnSuccess = true;
      });
  rejects(
      "succeedsAndGoesOn", pausingWait(),
      [](Facts &F) { F.Polls[0].SuccessGoesOn = true; }, [](Facts &) {});
  rejects(
      "computes", flagWait(),
      [](Facts &F) { F.Polls[0].Plain = F.Polls[0].Varies = true; },
      [](Facts &F) { F.Polls[0].Plain = F.Polls[0].Varies = F.Sleeps = true; });
  rejects(
      "computes", flagWait(),
      [](Facts &F) { F.Polls[0].Plain = F.Polls[0].Varies = true; },
      [](Facts &F) { F.Polls[0].Varies = true; });
  auto PlainAnd = [](PollFact &P, Facts &F, CauseSet C) {
    P.Plain = true;
    F.Exits.push_back(exitBy(C));
  };
  rejects(
      "computes", flagWait(), [&](Facts &F) { PlainAnd(F.Polls[0], F, Own); },
      [&](Facts &F) {
        PlainAnd(F.Polls[0], F, Own);
        F.Polls.push_back({}); // An atomic poll beside it.
      });
  rejects(
      "computes", flagWait(),
      [&](Facts &F) { // What locates a poll is no poll.
        PlainAnd(F.Polls[0], F, Own);
        F.Polls.push_back({});
        F.Polls[1].OnlyLocates = true;
      },
      [&](Facts &F) {
        PlainAnd(F.Polls[0], F, Own);
        F.Pauses = true;
      });
  rejects(
      "works", pausingWait(),
      [](Facts &F) { F.Effects = {effect(Effect::Work)}; },
      [](Facts &F) { F.Effects = {effect(Effect::Rarely)}; });
  doubts(
      "pollsInTurn", "it polls several words in turn",
      [](Facts &F) { F.PollsInTurn = true; },
      [](Facts &F) { F.Polls[0].Varies = true; });
  doubts(
      "pollsInTurn", "it polls several words in turn",
      [](Facts &F) { F.Exits.push_back(exitBy(Polled | InTurn)); },
      [](Facts &F) { F.Exits.push_back(exitBy(Polled)); });
  for (PollFact::By How : {PollFact::Try, PollFact::TryLock})
    doubts(
        "pollsInTurn", "it polls several words in turn",
        [&](Facts &F) {
          F.Polls[0].How = How;
          F.Polls[0].Varies = true;
        },
        [&](Facts &F) { F.Polls[0].How = How; });
  Verdict V = judge(with(flagWait(), [](Facts &F) {
    F.Exits.push_back(exitBy(Polled | InTurn));
  }));
  expect(V.Doubt.empty() && V.InTurn,
         "without a hint, words in turn only forbid a sleep");
  expect(!judge(flagWait()).InTurn, "one word is not in turn");
  auto CallBounded = [](Facts &F) {
    F.Polls[0].How = PollFact::Call;
    F.Exits.push_back(exitBy(Own));
  };
  rejects("countsCalls", pausingWait(), CallBounded, [&](Facts &F) {
    CallBounded(F);
    F.HintsItself = true;
  });
  rejects("countsCalls", pausingWait(), CallBounded, [&](Facts &F) {
    CallBounded(F);
    F.OnlyTries = true;
  });
}

void effects() {
  auto Doubts = [](StringRef Text, Effect Of) {
    doubts(
        "leavesDoubt", Text, [&](Facts &F) { F.Effects = {Of}; },
        [](Facts &F) { F.Effects = {effect(Effect::Nothing)}; });
  };
  Effect Fails = effect(Effect::Fails), Calls = effect(Effect::Unknown),
         Promises = Calls;
  Fails.Callee = "oops";
  Promises.Callee = "delay";
  Promises.Promised = CallEffect::Sleep;
  Doubts("it calls 'oops', which may return", Fails);
  Doubts("it calls a function, whose effects are unknown", Calls);
  Doubts("it calls 'delay', whose effects are unknown", Promises);
  Doubts("each iteration undoes its change of shared memory",
         effect(Effect::TakesBack));
  Doubts("each iteration takes and releases a lock", effect(Effect::Releases));
  Doubts("it may go on after a try that has succeeded",
         effect(Effect::Succeeds));
  Doubts("each iteration registers the thread and retracts that",
         effect(Effect::Retracts));
  Doubts("it keeps a count in shared memory", effect(Effect::Counts));
  Doubts("it writes a variable that the functions it calls may access",
         effect(Effect::Locally));
  Doubts("some of its iterations do more than poll", effect(Effect::Rarely));
  Doubts("it keeps a count", effect(Effect::Keeps));
  Facts None = with(pausingWait(),
                    [](Facts &F) { F.Effects = {effect(Effect::Nothing)}; });
  expect(judge(None).Waits && judge(None).Doubt.empty(),
         "what leaves nothing is no effect");
  auto OnlyHints = [&](const Effect &Of, bool InTurn = false) {
    return judge(with(pausingWait(),
                      [&](Facts &F) {
                        F.Effects = {Of};
                        F.PollsInTurn = InTurn;
                      }))
        .DoubtsHints;
  };
  expect(OnlyHints(Promises), "a hint by its name is the only doubt");
  expect(!OnlyHints(Calls), "what a call does is not known");
  expect(!OnlyHints(Promises, true), "several words in turn are a doubt, too");
  // The first doubt is the one that is reported.
  Facts Two = with(pausingWait(), [&](Facts &F) {
    F.Effects = {effect(Effect::Nothing), effect(Effect::Rarely),
                 effect(Effect::TakesBack)};
  });
  expect(judge(Two).Doubt == "some of its iterations do more than poll",
         "the first doubt is reported");
  Two.PollsInTurn = true;
  expect(judge(Two).Doubt == "it polls several words in turn",
         "words in turn come before effects");
}

void kinds() {
  isOfKind(SpinKind::Flag, [](Facts &) {});
  isOfKind(SpinKind::Device, [](Facts &F) {
    F.Polls[0].Device = true;
    F.OnlyRetries = true; // A device comes first.
  });
  isOfKind(SpinKind::Device, [](Facts &F) {
    F.Polls[0].Device = true;
    F.Polls.push_back({}); // A flag beside it.
  });
  isOfKind(SpinKind::Retry, [](Facts &F) {
    F.OnlyRetries = true;
    F.Polls[0].How = PollFact::Try;
  });
  isOfKind(SpinKind::TryLock, [](Facts &F) {
    F.OnlyRetries = F.TakesWhatItWaitedFor = true;
    F.Polls[0].How = PollFact::Try;
  });
  isOfKind(SpinKind::Call, [](Facts &F) {
    F.Polls[0].How = PollFact::Call;
    F.Polls.push_back({});
    F.Polls[1].How = PollFact::TryLock;
  });
  isOfKind(SpinKind::TryLockCall, [](Facts &F) {
    F.Polls[0].How = PollFact::TryLock;
    F.Polls.push_back({});
    F.Polls[1].How = PollFact::Try;
  });
  isOfKind(SpinKind::TestAndTestAndSet, [](Facts &F) {
    F.Polls[0].How = PollFact::Try;
    F.Polls.push_back({});
  });
  isOfKind(SpinKind::TestAndTestAndSet, [](Facts &F) {
    F.Polls[0].How = PollFact::Try;
    F.PollsInside = true;
  });
  // Of several rules that hold, the first decides.
  isOfKind(SpinKind::Retry, [](Facts &F) {
    F.OnlyRetries = true;
    F.Polls[0].How = PollFact::Call;
  });
  isOfKind(SpinKind::TryLockCall, [](Facts &F) {
    F.Polls.resize(3);
    F.Polls[0].How = PollFact::TryLock;
    F.Polls[1].How = PollFact::Try;
  });
  isOfKind(SpinKind::TryLock, [](Facts &F) {
    F.Polls[0].How = PollFact::Try;
    F.Exits[0].Whole.EndsUnchanged = true;
  });
  isOfKind(SpinKind::SeqLock, [](Facts &F) {
    F.Exits[0].Whole.EndsUnchanged = true;
    F.Exits[0].Whole.ComparesTicket = true;
  });
  isOfKind(SpinKind::Ticket, [](Facts &F) {
    F.Exits[0].Whole.ComparesTicket = true;
    F.Polls[0].InQueueNode = true;
  });
  isOfKind(SpinKind::Queue,
           [](Facts &F) { F.Polls[0].InQueueNode = F.CountsBefore = true; });
  isOfKind(SpinKind::Barrier, [](Facts &F) { F.CountsBefore = true; });
}

} // namespace

int main() {
  lattice();
  exits();
  rules();
  effects();
  kinds();
  stages();
  for (StringRef Rule : ruleNames())
    expect(Seen.contains(Rule), "no case for the rule " + Rule);
  return Failures != 0;
}
