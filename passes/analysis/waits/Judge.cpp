//===- Judge.cpp - Verdict on a loop that may wait ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The predicates of the rules, each with the reason for its rule, and the
// tables of the rules, in the order in which they are asked.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/Judge.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace vfriendly {

namespace {

/// The facts, and what follows from the causes of the exits.
struct View {
  View(const Facts &F, StringRef Without);

  const Facts &F;
  /// The rule that is switched off.
  StringRef Without;
  /// The conditions that end the loop only if other threads write memory.
  SmallVector<const Condition *, 4> Waiting;
  /// The union of the causes of all exits.
  CauseSet All = 0;
  bool Bounded = false, Gated = false, Counted = false;
  uint64_t Bound = 0;
};

View::View(const Facts &F, StringRef Without) : F(F), Without(Without) {
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

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

/// The program should end there, so the path is not a part of the wait. The
/// name proves nothing, so a doubt remains.
bool fails(const Effect &E) { return E.Guard == Effect::Failing; }

/// A failed iteration leaves memory as it was, like a reader that increments
/// the number of readers, then finds a writer and decrements the number again.
bool isTakenBack(const Effect &E) { return E.Undone == Effect::TakesBack; }

/// The loop polls with a lock held, and releases it before the next iteration.
bool isReleased(const Effect &E) { return E.Undone == Effect::Releases; }

/// A pop that has taken an element from a queue mostly ends the loop, but the
/// element may be null.
bool succeeds(const Effect &E) { return E.Guard == Effect::Succeeding; }

/// Other threads see how often the loop has added.
bool adds(const Effect &E) { return E.Kind == Effect::Addition; }

/// Each failed iteration leaves the same value in memory, like a reader that
/// registers, then finds a writer and deregisters.
bool isRetracted(const Effect &E) { return E.Undone == Effect::Retracts; }

/// Each failed iteration stores the same value at the same address. The store
/// is neither atomic nor volatile, so no other thread may write there
/// meanwhile.
bool isRepeated(const Effect &E) { return E.Undone == Effect::Repeats; }

/// The store before the notify is another effect.
bool isOwnNotify(const Effect &E) { return E.Kind == Effect::Notify; }

/// The function gives a hint, reads a clock or polls, by its name or by the use
/// of its result.
bool isUnknownCall(const Effect &E) {
  return E.Kind == Effect::Call &&
         (E.Promised != CallEffect::Other || (E.Polled && !E.NamesWork));
}

bool keepsStatistics(const Effect &E) { return E.Kind == Effect::Statistics; }

bool storesLocally(const Effect &E) { return E.Kind == Effect::LocalStore; }

/// Such as a message after a second, or in every thousandth iteration.
bool isRare(const Effect &E) { return E.Guard == Effect::Rarely; }

bool isAnything(const Effect &) { return true; }

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

bool hasManyEffects(const View &V) { return V.F.Effects.size() > MaxEffects; }

/// Without a hint in each iteration, nothing says that the loop is intended as
/// a wait, so no effect may outlast a failed iteration. A function that, by its
/// name, reads a clock or gives a hint has no effect, nor has the notify that
/// an earlier run has inserted after the loop's own try on a lock.
bool leavesTracesUnhinted(const View &V) {
  return V.F.Rhythm == HintRhythm::None &&
         any_of(V.F.Effects, [](const Effect &E) {
           return !isTakenBack(E) && !isReleased(E) && !fails(E) &&
                  !isOwnNotify(E) && !isRepeated(E) &&
                  E.Promised == CallEffect::Other;
         });
}

/// `while (sem_trywait(&s) && errno == EINTR);` waits for no other thread.
bool repeatsInterrupted(const View &V) {
  return any_of(V.F.Exits, [](const Leaf &E) { return E.RepeatsInterrupted; });
}

bool waitsForNobody(const View &V) { return V.Waiting.empty(); }

/// A loop that traverses data while it polls a flag does work.
bool walks(const View &V) { return V.All & Walks; }

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

/// A loop that goes on after an exchange or a try on a lock has succeeded does
/// work, or takes all units of a semaphore.
bool succeedsAndGoesOn(const View &V) {
  return any_of(V.Waiting, [](auto *C) { return C->StaysOnSuccess; }) ||
         any_of(V.F.Polls, [](auto &P) { return P.SuccessGoesOn; });
}

/// A loop that reads plain memory at several addresses again and again is a
/// search, unless it gives a spin hint.
bool searches(const View &V) {
  return !V.F.hints() &&
         any_of(V.F.Polls, [](auto &P) { return P.Plain && P.Varies; });
}

/// Bounded loops that read plain memory are common in computations.
bool computesBounded(const View &V) {
  return !V.F.hints() && V.Bounded &&
         all_of(V.F.Polls, [](auto &P) { return P.Plain || P.OnlyLocates; });
}

bool takesNoCount(const Carried &C) {
  return C.Decides ? C.Counts : !C.LivesOn;
}

/// A loop whose number of iterations is computed, or that computes a value for
/// later, does work. It may count its iterations; but one that reads plain
/// memory and does not give a hint in each iteration more likely counts
/// elements.
bool carriesWork(const View &V) {
  bool CountsElements = V.F.Rhythm != HintRhythm::Pauses &&
                        any_of(V.F.Polls, [](const PollFact &P) {
                          return P.Plain && !P.OnlyLocates;
                        });
  return any_of(V.F.Carries, [&](const Carried &C) {
    return !takesNoCount(C) && (C.Decides || !C.ByConstants || CountsElements);
  });
}

bool readsElements(const View &V) {
  return V.F.ReadsElements && V.Bounded && !V.F.hints();
}

/// Another thread may wait for the value: `while (!stop) slot.exchange(1);`.
bool exchangesUnasked(const View &V) { return V.F.ExchangesUnasked; }

bool keepsCount(const View &V) { return !all_of(V.F.Carries, takesNoCount); }

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

bool pollsDevice(const View &V) {
  return all_of(V.F.Polls, [](const PollFact &P) { return P.Device; });
}

bool onlyRetries(const View &V) {
  return V.F.OnlyRetries && !V.F.TakesWhatItWaitedFor;
}

bool pollsBy(const View &V, PollFact::By How) {
  return any_of(V.F.Polls, [&](const PollFact &P) { return P.How == How; });
}

bool pollsCall(const View &V) { return pollsBy(V, PollFact::Call); }

bool callsTryLock(const View &V) { return pollsBy(V, PollFact::TryLock); }

bool tries(const View &V) { return pollsBy(V, PollFact::Try); }

bool readsBeforeItTries(const View &V) {
  return tries(V) && (pollsBy(V, PollFact::Read) || V.F.PollsInside);
}

bool endsUnchanged(const View &V) {
  return any_of(V.Waiting, [](auto *C) { return C->EndsUnchanged; });
}

bool comparesTicket(const View &V) {
  return any_of(V.Waiting, [](auto *C) { return C->ComparesTicket; });
}

bool pollsQueueNode(const View &V) {
  return any_of(V.F.Polls, [](auto &P) { return P.InQueueNode; });
}

bool countsBefore(const View &V) { return V.F.CountsBefore; }

bool pollsFlag(const View &) { return true; }

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

/// Reject: the loop is no wait. Doubt: it is reported, and keeps its
/// iterations. Excuse: the effect does not matter.
enum Outcome { Reject, Doubt, Excuse };

// Each rule's name and predicate.
#define RULE(NAME) #NAME, NAME

// Rules end with two columns for people: the file in test/spin-loops/pass that
// fails without the rule; and, without the rule, waits found less / false
// reports more, of those of test/rigs/corpus/README.md, or - if it changed
// none.

struct EffectRule {
  StringLiteral Name;
  bool (*Holds)(const Effect &);
  Outcome Then;
  /// A doubt's reason in remarks; % stands for the called function.
  StringLiteral Text;
  StringLiteral Test, Ablation;
};

/// Of each effect, the first rule that holds decides.
constexpr EffectRule EffectRules[] = {
    // clang-format off: one line a rule.
    {RULE(fails),           Doubt,  "it calls %, which may return",                                "doubts.c",         "-"},
    {RULE(isTakenBack),     Doubt,  "each iteration undoes its change of shared memory",           "readers.c",        "4 / 0"},
    {RULE(isReleased),      Doubt,  "each iteration takes and releases a lock",                    "tries.cpp",        "-"},
    {RULE(succeeds),        Doubt,  "it may go on after a try that has succeeded",                 "tries.cpp",        "-"},
    {RULE(adds),            Reject, "",                                                            "work.c",           "-"},
    {RULE(isRetracted),     Doubt,  "each iteration registers the thread and retracts that",       "announce.c",       "-"},
    {RULE(isRepeated),      Excuse, "",                                                            "repeated.c",       "2 / 0"},
    {RULE(isOwnNotify),     Excuse, "",                                                            "earlier-waits.ll", "-"},
    {RULE(isUnknownCall),   Doubt,  "it calls %, whose effects are unknown",                       "doubts.c",         "2 / 0"},
    {RULE(keepsStatistics), Doubt,  "it keeps a count in shared memory",                           "doubts.c",         "-"},
    {RULE(storesLocally),   Doubt,  "it writes a variable that the functions it calls may access", "doubts.c",         "-"},
    {RULE(isRare),          Doubt,  "some of its iterations do more than poll",                    "doubts.c",         "-"},
    {RULE(isAnything),      Reject, "",                                                            "work.c",           "-"},
    // clang-format on
};

/// Returns the rule that decides about the effect; null if Without is the only
/// rule that holds.
const EffectRule *ruleFor(const Effect &E, StringRef Without) {
  auto *Found = find_if(EffectRules, [&](const EffectRule &R) {
    return R.Name != Without && R.Holds(E);
  });
  return Found == std::end(EffectRules) ? nullptr : Found;
}

/// Returns the first effect about which a rule with this outcome decides.
const Effect *firstEffect(const View &V, Outcome Then) {
  for (const Effect &E : V.F.Effects)
    if (const EffectRule *R = ruleFor(E, V.Without); R && R->Then == Then)
      return &E;
  return nullptr;
}

bool hasInexcusableEffect(const View &V) { return firstEffect(V, Reject); }

bool hasDoubtfulEffect(const View &V) { return firstEffect(V, Doubt); }

/// Returns true if each doubtful effect is a call that is a hint by its name.
bool doubtsOnlyHints(const View &V) {
  return all_of(V.F.Effects, [&](const Effect &E) {
    const EffectRule *R = ruleFor(E, V.Without);
    return !R || R->Then != Doubt ||
           (R->Holds == isUnknownCall && isHint(E.Promised));
  });
}

struct KindRule {
  SpinKind Kind;
  StringLiteral Name;
  bool (*Holds)(const View &);
  StringLiteral Test, Ablation;
};

/// The first rule that holds gives the kind.
constexpr KindRule KindRules[] = {
    // clang-format off: one line a rule.
    {SpinKind::Device,            RULE(pollsDevice),        "device.c",                "-"},
    {SpinKind::Retry,             RULE(onlyRetries),        "not-a-wait.c",            "0 / 14"},
    {SpinKind::Call,              RULE(pollsCall),          "doubts.c",                "-"},
    {SpinKind::TryLockCall,       RULE(callsTryLock),       "trylock-calls.c",         "-"},
    {SpinKind::TestAndTestAndSet, RULE(readsBeforeItTries), "test-and-test-and-set.c", "-"},
    {SpinKind::TryLock,           RULE(tries),              "try-lock.c",              "-"},
    {SpinKind::SeqLock,           RULE(endsUnchanged),      "seqlock.c",               "-"},
    {SpinKind::Ticket,            RULE(comparesTicket),     "ticket.c",                "-"},
    {SpinKind::Queue,             RULE(pollsQueueNode),     "queue.c",                 "-"},
    {SpinKind::Barrier,           RULE(countsBefore),       "barrier.c",               "-"},
    {SpinKind::Flag,              RULE(pollsFlag),          "flag.c",                  "-"},
    // clang-format on
};

SpinKind kindOf(const View &V) {
  for (const KindRule &R : KindRules)
    if (R.Name != V.Without && R.Holds(V))
      return R.Kind;
  return SpinKind::Flag;
}

/// A counted loop that ends early when a call fails does one piece of work in
/// each iteration. A wait in an inner loop does not make the outer loop a wait.
bool countsCalls(const View &V) {
  return kindOf(V) == SpinKind::Call && V.Bounded && !V.F.HintsItself &&
         !V.F.OnlyTries;
}

struct LoopRule {
  StringLiteral Name;
  bool (*Holds)(const View &);
  /// The facts that it needs.
  Stage Needs;
  Outcome Then;
  /// A doubt's reason in remarks.
  StringLiteral Text;
  StringLiteral Test, Ablation;
};

/// All rules are asked, in this order; the first that rejects ends the search,
/// and of the doubts the first is reported.
constexpr LoopRule LoopRules[] = {
    // clang-format off: one line a rule.
    {RULE(hasManyEffects),       Stage::Effects,  Reject, "",                               "work.c",          "-"},
    {RULE(leavesTracesUnhinted), Stage::Effects,  Reject, "",                               "not-a-wait.c",    "-"},
    {RULE(repeatsInterrupted),   Stage::Exits,    Reject, "",                               "trylock-calls.c", "-"},
    {RULE(waitsForNobody),       Stage::Exits,    Reject, "",                               "counting.c",      "-"},
    {RULE(walks),                Stage::Exits,    Reject, "",                               "not-a-wait.c",    "-"},
    {RULE(succeedsAndGoesOn),    Stage::Exits,    Reject, "",                               "try-lock.c",      "-"},
    {RULE(searches),             Stage::Exits,    Reject, "",                               "not-a-wait.c",    "-"},
    {RULE(computesBounded),      Stage::Exits,    Reject, "",                               "bounded.c",       "-"},
    {RULE(pollsInTurn),          Stage::Exits,    Doubt,  "it polls several words in turn", "in-turn.c",       "-"},
    {RULE(hasInexcusableEffect), Stage::Progress, Reject, "",                               "doubts.c",        "-"},
    {RULE(hasDoubtfulEffect),    Stage::Progress, Doubt,  "",                               "doubts.c",        "4 / 0"},
    {RULE(carriesWork),          Stage::Progress, Reject, "",                               "counting.c",      "0 / 1"},
    {RULE(readsElements),        Stage::Progress, Reject, "",                               "work.c",          "0 / 1"},
    {RULE(exchangesUnasked),     Stage::Progress, Reject, "",                               "work.c",          "-"},
    {RULE(keepsCount),           Stage::Progress, Doubt,  "it keeps a count",               "counting.c",      "-"},
    {RULE(countsCalls),          Stage::Kind,     Reject, "",                               "bounded.c",       "0 / 1"},
    // clang-format on
};

#undef RULE

/// Returns the reason for the first doubtful effect.
std::string doubtAbout(const View &V) {
  const Effect &E = *firstEffect(V, Doubt);
  auto [Before, After] = StringRef(ruleFor(E, V.Without)->Text).split('%');
  if (After.empty())
    return Before.str();
  std::string Callee = E.Callee.empty() ? "a function" : "'" + E.Callee + "'";
  return Before.str() + Callee + After.str();
}

} // namespace

Verdict judge(const Facts &F, StringRef Without) {
  View V(F, Without);
  Verdict Found;
  Found.Bounded = V.Bounded;
  Found.ByClock = V.Bounded && !V.Counted;
  Found.Gated = V.Gated;
  Found.InTurn = (V.All & InTurn) != 0;
  Found.Bound = V.Bound;
  for (const LoopRule &R : LoopRules) {
    if (R.Needs > F.Known || R.Name == Without || !R.Holds(V))
      continue;
    if (R.Then == Reject) {
      Found.Waits = false;
      Found.By = R.Name;
      return Found;
    }
    bool OnlyHints = R.Holds == hasDoubtfulEffect && doubtsOnlyHints(V);
    Found.DoubtsHints = OnlyHints && (Found.Doubt.empty() || Found.DoubtsHints);
    if (Found.Doubt.empty())
      Found.Doubt = R.Text.empty() ? doubtAbout(V) : R.Text.str();
  }
  Found.Kind = kindOf(V);
  return Found;
}

SmallVector<StringRef, 0> ruleNames() {
  SmallVector<StringRef, 0> Names;
  for (const LoopRule &R : LoopRules)
    Names.push_back(R.Name);
  for (const EffectRule &R : EffectRules)
    Names.push_back(R.Name);
  for (const KindRule &R : KindRules)
    Names.push_back(R.Name);
  return Names;
}

} // namespace vfriendly
