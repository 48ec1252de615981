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

void loopRules() {
  rejects(
      "hasManyEffects", pausingWait(),
      [](Facts &F) {
        F.Effects.assign(MaxEffects + 1, effect(Effect::Statistics));
      },
      [](Facts &F) {
        F.Effects.assign(MaxEffects, effect(Effect::Statistics));
      });
  rejects(
      "leavesTracesUnhinted", flagWait(),
      [](Facts &F) { F.Effects = {effect(Effect::Statistics)}; },
      [](Facts &F) {
        F.Effects = {effect(Effect::Addition), effect(Effect::Call),
                     effect(Effect::Call), effect(Effect::Notify)};
        F.Effects[0].Undone = Effect::TakesBack;
        F.Effects[1].Guard = Effect::Failing;
        F.Effects[2].Promised = CallEffect::Clock;
      });
  rejects(
      "leavesTracesUnhinted", flagWait(),
      [](Facts &F) { // Some iterations give a hint, and it has more effects.
        F.Effects = {effect(Effect::Call), effect(Effect::Statistics)};
        F.Effects[0].Promised = CallEffect::Pause;
      },
      [](Facts &F) {
        F.Effects = {effect(Effect::Call)};
        F.Effects[0].Promised = CallEffect::Pause;
      });
  rejects(
      "leavesTracesUnhinted", flagWait(),
      [](Facts &F) { F.Effects = {effect(Effect::Statistics)}; },
      [](Facts &F) {
        F.Effects = {effect(Effect::Statistics)};
        F.Rhythm = HintRhythm::Hints;
      });
  rejects(
      "repeatsInterrupted", flagWait(),
      [](Facts &F) {
        F.Exits.push_back(exitBy(Polled));
        F.Exits[0].RepeatsInterrupted = true;
      },
      [](Facts &) {});
  rejects(
      "waitsForNobody", pausingWait(),
      [](Facts &F) { F.Exits[0].Whole.Causes = Polled | Own; },
      [](Facts &F) { F.Exits.push_back(exitBy(Polled | Own)); });
  rejects(
      "walks", pausingWait(),
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
      "searches", flagWait(),
      [](Facts &F) { F.Polls[0].Plain = F.Polls[0].Varies = true; },
      [](Facts &F) { F.Polls[0].Plain = F.Polls[0].Varies = F.Sleeps = true; });
  rejects(
      "searches", flagWait(),
      [](Facts &F) { F.Polls[0].Plain = F.Polls[0].Varies = true; },
      [](Facts &F) { F.Polls[0].Varies = true; });
  auto PlainAnd = [](PollFact &P, Facts &F, CauseSet C) {
    P.Plain = true;
    F.Exits.push_back(exitBy(C));
  };
  rejects(
      "computesBounded", flagWait(),
      [&](Facts &F) { PlainAnd(F.Polls[0], F, Own); },
      [&](Facts &F) {
        PlainAnd(F.Polls[0], F, Own);
        F.Polls.push_back({}); // An atomic poll beside it.
      });
  rejects(
      "computesBounded", flagWait(),
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
      "hasInexcusableEffect", pausingWait(),
      [](Facts &F) { F.Effects = {effect(Effect::Store)}; },
      [](Facts &F) {
        F.Effects = {effect(Effect::Store)};
        F.Effects[0].Guard = Effect::Rarely;
      });
  Seen.insert("hasDoubtfulEffect"); // See effectRules.

  auto Carry = [](Facts &F, bool Decides, bool Counts, bool ByConstants) {
    Carried C;
    C.Decides = Decides;
    C.Counts = Counts;
    C.ByConstants = ByConstants;
    C.LivesOn = true;
    F.Carries = {C};
  };
  rejects(
      "carriesWork", pausingWait(),
      [&](Facts &F) { Carry(F, true, false, true); },
      [&](Facts &F) { Carry(F, true, true, false); });
  rejects(
      "carriesWork", pausingWait(),
      [&](Facts &F) { Carry(F, false, true, false); },
      [&](Facts &F) {
        Carry(F, false, true, false);
        F.Carries[0].LivesOn = false;
      });
  rejects(
      "carriesWork", flagWait(),
      [&](Facts &F) {
        Carry(F, false, true, true);
        F.Polls[0].Plain = true;
        F.Rhythm = HintRhythm::Hints;
      },
      [&](Facts &F) {
        Carry(F, false, true, true);
        F.Polls[0].Plain = true;
        F.Rhythm = HintRhythm::Pauses;
      });
  rejects(
      "carriesWork", flagWait(),
      [&](Facts &F) {
        Carry(F, false, true, true);
        F.Polls[0].Plain = true;
      },
      [&](Facts &F) { // The plain read only locates the atomic one.
        Carry(F, false, true, true);
        F.Polls[0].Plain = F.Polls[0].OnlyLocates = true;
        F.Polls.push_back({});
      });
  rejects(
      "readsElements", flagWait(),
      [](Facts &F) {
        F.ReadsElements = true;
        F.Exits.push_back(exitBy(Own));
      },
      [](Facts &F) { F.ReadsElements = true; });
  expect(judge(with(pausingWait(),
                    [](Facts &F) {
                      F.ReadsElements = true;
                      F.Exits.push_back(exitBy(Own));
                    }))
             .Waits,
         "a loop that pauses may read elements");
  rejects(
      "exchangesUnasked", pausingWait(),
      [](Facts &F) { F.ExchangesUnasked = true; }, [](Facts &) {});
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
  doubts(
      "keepsCount", "it keeps a count",
      [&](Facts &F) { Carry(F, false, true, true); },
      [&](Facts &F) { Carry(F, true, true, true); });
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

void effectRules() {
  // The effect must be decided by this rule; the twin by another.
  auto DoubtsEffect = [](StringRef Rule, StringRef Text, const Effect &Of,
                         const Effect &Near) {
    doubts(
        Rule, Text, [&](Facts &F) { F.Effects = {Of}; },
        [&](Facts &F) { F.Effects = {Near}; });
  };
  Effect Call = effect(Effect::Call), Other = Call;
  Call.Callee = "oops";
  Call.Guard = Effect::Failing;
  Other.Polled = true;
  DoubtsEffect("fails", "it calls 'oops', which may return", Call, Other);
  Effect Add = effect(Effect::Addition);
  Add.Guard = Effect::Rarely; // Others see a rare addition, too.
  rejects(
      "hasInexcusableEffect", pausingWait(),
      [&](Facts &F) { F.Effects = {Add}; }, [](Facts &) {});
  Seen.insert("adds");
  Effect Undone = effect(Effect::Addition);
  Undone.Undone = Effect::TakesBack;
  DoubtsEffect("isTakenBack",
               "each iteration undoes its change of shared memory", Undone,
               Add);
  Effect Locks = effect(Effect::Call), Released = Locks;
  Released.Undone = Effect::Releases;
  DoubtsEffect("isReleased", "each iteration takes and releases a lock",
               Released, Locks);
  Effect Taken = effect(Effect::Addition);
  Taken.Guard = Effect::Succeeding;
  DoubtsEffect("succeeds", "it may go on after a try that has succeeded", Taken,
               Add);
  Effect Store = effect(Effect::Store), Retracted = Store;
  Retracted.Undone = Effect::Retracts;
  DoubtsEffect("isRetracted",
               "each iteration registers the thread and retracts that",
               Retracted, Store);
  Facts Notifies = with(pausingWait(),
                        [](Facts &F) { F.Effects = {effect(Effect::Notify)}; });
  expect(judge(Notifies).Waits && judge(Notifies).Doubt.empty(),
         "a notify is no effect");
  Seen.insert("isOwnNotify");
  Effect Repeated = Store;
  Repeated.Undone = Effect::Repeats;
  Facts Repeats =
      with(pausingWait(), [&](Facts &F) { F.Effects = {Repeated}; });
  expect(judge(Repeats).Waits && judge(Repeats).Doubt.empty(),
         "a store that each iteration repeats is no effect");
  Repeats.Rhythm = HintRhythm::None;
  expect(judge(Repeats).Waits, "nor is it without a hint");
  Seen.insert("isRepeated");
  Effect Nameless = Other, Works = Other, Promises = effect(Effect::Call);
  Works.NamesWork = true;
  Promises.Callee = "delay";
  Promises.NamesWork = true;
  Promises.Promised = CallEffect::Sleep;
  DoubtsEffect("isUnknownCall",
               "it calls a function, whose effects are unknown", Nameless,
               Works);
  DoubtsEffect("isUnknownCall", "it calls 'delay', whose effects are unknown",
               Promises, Works);
  auto OnlyHints = [&](const Effect &Of, bool InTurn = false) {
    return judge(with(pausingWait(),
                      [&](Facts &F) {
                        F.Effects = {Of};
                        F.PollsInTurn = InTurn;
                      }))
        .DoubtsHints;
  };
  expect(OnlyHints(Promises), "a hint by its name is the only doubt");
  expect(!OnlyHints(Nameless), "what a call does is not known");
  expect(!OnlyHints(Promises, true), "several words in turn are a doubt, too");
  rejects(
      "hasInexcusableEffect", pausingWait(),
      [&](Facts &F) { F.Effects = {Works}; },
      [&](Facts &F) { F.Effects = {Nameless}; });
  rejects(
      "hasInexcusableEffect", pausingWait(),
      [&](Facts &F) {
        F.Effects = {effect(Effect::Call)}; // No exit depends on it.
      },
      [&](Facts &F) { F.Effects = {Nameless}; });
  rejects(
      "hasInexcusableEffect", pausingWait(),
      [&](Facts &F) {
        F.Effects = {Nameless};
        F.Effects[0].Kind = Effect::Other; // exchange(&word, i++)
      },
      [&](Facts &F) { F.Effects = {Nameless}; });
  DoubtsEffect("keepsStatistics", "it keeps a count in shared memory",
               effect(Effect::Statistics), Store);
  DoubtsEffect("storesLocally",
               "it writes a variable that the functions it calls may access",
               effect(Effect::LocalStore), Store);
  Effect Rare = Store;
  Rare.Guard = Effect::Rarely;
  DoubtsEffect("isRare", "some of its iterations do more than poll", Rare,
               Store);
  Seen.insert("isAnything"); // The twins above.
  // Of several rules that hold, the first decides.
  auto Both = [](Effect E, Effect::When Guard, Effect::How Undone) {
    E.Guard = Guard;
    E.Undone = Undone;
    return E;
  };
  DoubtsEffect("fails", "it calls 'oops', which may return",
               Both(Call, Effect::Failing, Effect::TakesBack), Undone);
  DoubtsEffect("isReleased", "each iteration takes and releases a lock",
               Both(Locks, Effect::Succeeding, Effect::Releases), Taken);
  DoubtsEffect("storesLocally",
               "it writes a variable that the functions it calls may access",
               Both(effect(Effect::LocalStore), Effect::Rarely, Effect::Never),
               Rare);
  // The first doubt is the one that is reported.
  Facts Two = with(pausingWait(), [&](Facts &F) {
    F.Effects = {effect(Effect::Notify), Rare, Undone};
    F.Carries.resize(1);
    F.Carries[0].LivesOn = F.Carries[0].ByConstants = true;
  });
  expect(judge(Two).Doubt == "some of its iterations do more than poll",
         "the first doubt is reported");
  Two.PollsInTurn = true;
  expect(judge(Two).Doubt == "it polls several words in turn",
         "words in turn come before effects");
}

void kinds() {
  isOfKind(SpinKind::Flag, "pollsFlag", [](Facts &) {});
  isOfKind(SpinKind::Device, "pollsDevice", [](Facts &F) {
    F.Polls[0].Device = true;
    F.OnlyRetries = true; // A device comes first.
  });
  isOfKind(SpinKind::Flag, "pollsDevice", [](Facts &F) {
    F.Polls[0].Device = true;
    F.Polls.push_back({});
  });
  isOfKind(SpinKind::Retry, "onlyRetries", [](Facts &F) {
    F.OnlyRetries = true;
    F.Polls[0].How = PollFact::Try;
  });
  isOfKind(SpinKind::TryLock, "tries", [](Facts &F) {
    F.OnlyRetries = F.TakesWhatItWaitedFor = true;
    F.Polls[0].How = PollFact::Try;
  });
  isOfKind(SpinKind::Call, "pollsCall", [](Facts &F) {
    F.Polls[0].How = PollFact::Call;
    F.Polls.push_back({});
    F.Polls[1].How = PollFact::TryLock;
  });
  isOfKind(SpinKind::TryLockCall, "callsTryLock", [](Facts &F) {
    F.Polls[0].How = PollFact::TryLock;
    F.Polls.push_back({});
    F.Polls[1].How = PollFact::Try;
  });
  isOfKind(SpinKind::TestAndTestAndSet, "readsBeforeItTries", [](Facts &F) {
    F.Polls[0].How = PollFact::Try;
    F.Polls.push_back({});
  });
  isOfKind(SpinKind::TestAndTestAndSet, "readsBeforeItTries", [](Facts &F) {
    F.Polls[0].How = PollFact::Try;
    F.PollsInside = true;
  });
  // Of several rules that hold, the first decides.
  isOfKind(SpinKind::Retry, "onlyRetries", [](Facts &F) {
    F.OnlyRetries = true;
    F.Polls[0].How = PollFact::Call;
  });
  isOfKind(SpinKind::TryLockCall, "callsTryLock", [](Facts &F) {
    F.Polls.resize(3);
    F.Polls[0].How = PollFact::TryLock;
    F.Polls[1].How = PollFact::Try;
  });
  isOfKind(SpinKind::TryLock, "tries", [](Facts &F) {
    F.Polls[0].How = PollFact::Try;
    F.Exits[0].Whole.EndsUnchanged = true;
  });
  isOfKind(SpinKind::SeqLock, "endsUnchanged", [](Facts &F) {
    F.Exits[0].Whole.EndsUnchanged = true;
    F.Exits[0].Whole.ComparesTicket = true;
  });
  isOfKind(SpinKind::Ticket, "comparesTicket", [](Facts &F) {
    F.Exits[0].Whole.ComparesTicket = true;
    F.Polls[0].InQueueNode = true;
  });
  isOfKind(SpinKind::Queue, "pollsQueueNode",
           [](Facts &F) { F.Polls[0].InQueueNode = F.CountsBefore = true; });
  isOfKind(SpinKind::Barrier, "countsBefore",
           [](Facts &F) { F.CountsBefore = true; });
}

} // namespace

int main() {
  lattice();
  exits();
  loopRules();
  effectRules();
  kinds();
  stages();
  for (StringRef Rule : ruleNames())
    expect(Seen.contains(Rule), "no case for the rule " + Rule);
  return Failures != 0;
}
