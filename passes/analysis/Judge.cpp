//===- Judge.cpp - Verdict on a loop that may wait ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The predicates of the rules in Rules.def, each with the reason for its rule,
// and the order in which the rules are asked.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/Judge.h"

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
/// name, reads a clock has no effect, nor has the notify that an earlier run
/// has inserted after the loop's own try on a lock.
bool leavesTracesUnhinted(const View &V) {
  return V.F.Rhythm == HintRhythm::None &&
         any_of(V.F.Effects, [](const Effect &E) {
           return !isTakenBack(E) && !fails(E) && !isOwnNotify(E) &&
                  E.Promised != CallEffect::Clock;
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

/// So are loops with an exit that depends on the progress of an inner loop.
bool computesInside(const View &V) {
  return !V.F.hints() && (V.All & Inner) &&
         any_of(V.F.Polls, [](auto &P) { return P.Plain && !P.OnlyLocates; });
}

/// A loop that tests the results of more than two calls in each iteration
/// searches for work to do. Calls that pass a result on return none.
bool testsManyCalls(const View &V) {
  return count_if(V.F.Effects, [](const Effect &E) {
           return E.Polled && !E.PassesOn && E.Promised == CallEffect::Other;
         }) > 2;
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

/// Other code of the thread may read the memory later.
bool storesForItself(const View &V) { return V.F.StoresForItself; }

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

enum class Outcome { Reject, Doubt, Excuse };

struct EffectRule {
  StringLiteral Name;
  Outcome Then;
  bool (*Holds)(const Effect &);
  StringLiteral Text;
};

constexpr EffectRule EffectRules[] = {
#define VF_EFFECT_RULE(NAME, OUTCOME, TEXT, TEST, ABLATION)                    \
  {#NAME, Outcome::OUTCOME, NAME, TEXT},
#include "passes/analysis/Rules.def"
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

bool hasInexcusableEffect(const View &V) {
  return firstEffect(V, Outcome::Reject);
}

bool hasDoubtfulEffect(const View &V) { return firstEffect(V, Outcome::Doubt); }

struct KindRule {
  SpinKind Kind;
  StringLiteral Name;
  bool (*Holds)(const View &);
};

constexpr KindRule KindRules[] = {
#define VF_KIND_RULE(KIND, NAME, TEST, ABLATION) {SpinKind::KIND, #NAME, NAME},
#include "passes/analysis/Rules.def"
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
  Stage Needs;
  Outcome Then;
  bool (*Holds)(const View &);
  StringLiteral Text;
};

constexpr LoopRule LoopRules[] = {
#define VF_LOOP_RULE(NAME, STAGE, OUTCOME, TEXT, TEST, ABLATION)               \
  {#NAME, Stage::STAGE, Outcome::OUTCOME, NAME, TEXT},
#include "passes/analysis/Rules.def"
};

/// Returns the reason for the first doubtful effect.
std::string doubtAbout(const View &V) {
  const Effect &E = *firstEffect(V, Outcome::Doubt);
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
    if (R.Then == Outcome::Reject) {
      Found.Waits = false;
      Found.By = R.Name;
      return Found;
    }
    if (Found.Doubt.empty())
      Found.Doubt = R.Text.empty() ? doubtAbout(V) : R.Text.str();
  }
  Found.Kind = kindOf(V);
  return Found;
}

} // namespace vfriendly
