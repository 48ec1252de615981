//===- Judge.cpp - Verdict on a loop that may wait ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The predicates of the rules, each with the reason for its rule, and their
// table, in the order in which they are asked.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/Judge.h"

#include "passes/analysis/common/SmallBound.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace vfriendly {

namespace {

/// The facts, and what follows from the causes of the exits.
struct View {
  View(const Facts &F);

  const Facts &F;
  /// The conditions that end the loop only if other threads write memory.
  SmallVector<const Condition *, 4> Waiting;
  /// The union of the causes of all exits.
  CauseSet All = 0;
  bool Bounded = false, Gated = false, Counted = false;
  uint64_t Bound = 0;
};

View::View(const Facts &F) : F(F) {
  for (const Leaf &E : F.Exits) {
    All |= E.Whole.Causes;
    if (waitsForOthers(E.Whole.Causes)) {
      Waiting.push_back(&E.Whole);
    } else if (E.Whole.Causes & (Own | Clock | Rotates)) {
      Bounded = true;
      Counted |= (E.Whole.Causes & ((ByItself & ~Clock) | Inner)) != 0;
      if (E.Whole.Causes & Own)
        Bound = std::max(Bound, E.Whole.Bound);
      for (const Condition &Part : E.Parts)
        if (waitsForOthers(Part.Causes)) {
          Waiting.push_back(&Part);
          Gated = true;
        }
    }
  }
}

/// The doubt that an effect leaves, by Effect::Trace; % stands for the called
/// function. Nothing and Work leave none.
constexpr StringLiteral Doubts[] = {
    "",
    "it calls %, which may return",
    "each iteration undoes its change of shared memory",
    "each iteration takes and releases a lock",
    "it may go on after a try that has succeeded",
    "each iteration registers the thread and retracts that",
    "it calls %, whose effects are unknown",
    "it keeps a count in shared memory",
    "it writes a variable that the functions it calls may access",
    "some of its iterations do more than poll",
    "it keeps a count",
    "",
    ""};

bool isDoubtful(const Effect &E) { return !Doubts[E.Leaves].empty(); }

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

/// Without a hint in each iteration, nothing says that the loop is intended as
/// a wait, so no effect may outlast a failed iteration, but for counts if some
/// iterations give a hint. A function that, by its name, reads a clock or gives
/// a hint has no effect, nor has a path on which the program fails.
bool leavesTraces(const View &V) {
  return V.F.Rhythm == HintRhythm::None &&
         any_of(V.F.Effects, [&](const Effect &E) {
           if (E.Leaves == Effect::Counts && (V.F.Pauses || V.F.Yields))
             return false;
           return !is_contained({Effect::Nothing, Effect::Fails,
                                 Effect::TakesBack, Effect::Releases,
                                 Effect::Keeps},
                                E.Leaves) &&
                  E.Promised == CallEffect::Other;
         });
}

/// No exit needs another thread, or an exit needs none: `while
/// (sem_trywait(&s) && errno == EINTR);`. A loop that traverses data while it
/// polls a flag does work, and a search that starts again is none either.
bool endsByItself(const View &V) {
  return V.Waiting.empty() || (V.All & Walks) ||
         any_of(V.F.Exits, [](const Leaf &E) { return E.RepeatsInterrupted; });
}

/// A loop that goes on after an exchange or a try on a lock has succeeded does
/// work, or takes all units of a semaphore.
bool succeedsAndGoesOn(const View &V) {
  return any_of(V.Waiting, [](auto *C) { return C->StaysOnSuccess; }) ||
         any_of(V.F.Polls, [](auto &P) { return P.SuccessGoesOn; });
}

/// Without a hint, a loop that reads plain memory at several addresses again
/// and again is a search, and one that is bounded and polls only plain memory
/// computes.
bool computes(const View &V) {
  return !V.F.hints() &&
         (any_of(V.F.Polls, [](auto &P) { return P.Plain && P.Varies; }) ||
          (V.Bounded && all_of(V.F.Polls, [](auto &P) {
             return P.Plain || P.OnlyLocates;
           })));
}

/// A pool's worker looks into one queue after the other; so does a search. If
/// another exit polls one word, such as `stop`, a sleep on that word would
/// delay what the worker finds in the queues: with a hint of its own, the loop
/// is left as it is, and without one it may yield (Verdict::InTurn). Each
/// iteration of a loop that tries to take something from several words has
/// looked at all; a loop that only reads them may wait for all of them.
bool pollsInTurn(const View &V) {
  return V.F.PollsInTurn || (V.F.hints() && (V.All & InTurn)) ||
         any_of(V.F.Polls, [](const PollFact &P) {
           return P.Varies &&
                  (P.How == PollFact::Try || P.How == PollFact::TryLock);
         });
}

bool works(const View &V) {
  return any_of(V.F.Effects,
                [](const Effect &E) { return E.Leaves == Effect::Work; });
}

bool leavesDoubt(const View &V) { return any_of(V.F.Effects, isDoubtful); }

/// A counted loop that ends early when a call fails does one piece of work in
/// each iteration. A wait in an inner loop does not make the outer loop a wait.
bool countsCalls(const View &V) {
  return V.Bounded && !V.F.HintsItself && !V.F.OnlyTries &&
         any_of(V.F.Polls, [](auto &P) { return P.How == PollFact::Call; });
}

/// Reject: the loop is no wait. Doubt: it is reported, and keeps its
/// iterations.
enum Outcome { Reject, Doubt };

struct Rule {
  StringLiteral Name;
  bool (*Holds)(const View &);
  /// The facts that it needs.
  Stage Needs;
  Outcome Then;
  /// A doubt's reason in remarks; empty if an effect gives it.
  StringLiteral Text;
  /// For people: the file in test/spin-loops/pass that fails without the rule.
  StringLiteral Test;
};

#define RULE(NAME) #NAME, NAME

/// All rules are asked, in this order; the first that rejects ends the search,
/// and of the doubts the first is reported.
constexpr Rule Rules[] = {
    // clang-format off: one line a rule.
    {RULE(leavesTraces),      Stage::Effects,  Reject, "",                               "not-a-wait.c"},
    {RULE(endsByItself),      Stage::Exits,    Reject, "",                               "counting.c"},
    {RULE(succeedsAndGoesOn), Stage::Exits,    Reject, "",                               "try-lock.c"},
    {RULE(computes),          Stage::Exits,    Reject, "",                               "bounded.c"},
    {RULE(pollsInTurn),       Stage::Exits,    Doubt,  "it polls several words in turn", "in-turn.c"},
    {RULE(works),             Stage::Progress, Reject, "",                               "work.c"},
    {RULE(leavesDoubt),       Stage::Progress, Doubt,  "",                               "doubts.c"},
    {RULE(countsCalls),       Stage::Kind,     Reject, "",                               "bounded.c"},
    // clang-format on
};

#undef RULE

/// Returns the reason for the first doubtful effect.
std::string doubtAbout(const View &V) {
  const Effect &E = *find_if(V.F.Effects, isDoubtful);
  auto [Before, After] = Doubts[E.Leaves].split('%');
  if (After.empty())
    return Before.str();
  std::string Callee = E.Callee.empty() ? "a function" : "'" + E.Callee + "'";
  return Before.str() + Callee + After.str();
}

/// Returns true if each doubtful effect is a call that is a hint by its name.
bool doubtsOnlyHints(const View &V) {
  return all_of(V.F.Effects, [](const Effect &E) {
    return !isDoubtful(E) ||
           (E.Leaves == Effect::Unknown && isHint(E.Promised));
  });
}

/// Returns the kind that what the loop polls by shows, the most telling first.
SpinKind kindOf(const View &V) {
  auto Polls = [&](auto Is) { return any_of(V.F.Polls, Is); };
  auto PollsBy = [&](PollFact::By How) {
    return Polls([=](const PollFact &P) { return P.How == How; });
  };
  auto Waits = [&](bool Condition::*Is) {
    return any_of(V.Waiting, [=](const Condition *C) { return C->*Is; });
  };
  // Beside a flag of threads, too, the device decides how long it takes.
  if (Polls([](const PollFact &P) { return P.Device; }))
    return SpinKind::Device;
  if (V.F.OnlyRetries && !V.F.TakesWhatItWaitedFor)
    return SpinKind::Retry;
  if (PollsBy(PollFact::Call))
    return SpinKind::Call;
  if (PollsBy(PollFact::TryLock))
    return SpinKind::TryLockCall;
  if (PollsBy(PollFact::Try))
    return PollsBy(PollFact::Read) || V.F.PollsInside
               ? SpinKind::TestAndTestAndSet
               : SpinKind::TryLock;
  // A reader that gives up after a few reads tries, and does not wait.
  if (Waits(&Condition::EndsUnchanged))
    return V.Bound != 0 && V.Bound <= SmallSlowBound ? SpinKind::Retry
                                                     : SpinKind::SeqLock;
  if (Waits(&Condition::ComparesTicket))
    return SpinKind::Ticket;
  if (Polls([](const PollFact &P) { return P.InQueueNode; }))
    return SpinKind::Queue;
  return V.F.CountsBefore ? SpinKind::Barrier : SpinKind::Flag;
}

} // namespace

Verdict judge(const Facts &F, StringRef Without) {
  View V(F);
  Verdict Found;
  Found.Bounded = V.Bounded;
  Found.ByClock = V.Bounded && !V.Counted;
  Found.Gated = V.Gated;
  Found.InTurn = (V.All & InTurn) != 0;
  Found.Bound = V.Bound;
  Found.ByName = any_of(F.Effects, [](auto &E) { return E.ByName; });
  for (const Rule &R : Rules) {
    if (R.Needs > F.Known || R.Name == Without || !R.Holds(V))
      continue;
    if (R.Then == Reject) {
      Found.Waits = false;
      Found.By = R.Name;
      return Found;
    }
    bool OnlyHints = R.Holds == leavesDoubt && doubtsOnlyHints(V);
    Found.DoubtsHints = OnlyHints && (Found.Doubt.empty() || Found.DoubtsHints);
    if (Found.Doubt.empty())
      Found.Doubt = R.Text.empty() ? doubtAbout(V) : R.Text.str();
  }
  Found.Kind = kindOf(V);
  return Found;
}

SmallVector<StringRef, 0> ruleNames() {
  SmallVector<StringRef, 0> Names;
  for (const Rule &R : Rules)
    Names.push_back(R.Name);
  return Names;
}

} // namespace vfriendly
