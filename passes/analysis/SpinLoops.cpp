//===- SpinLoops.cpp - Waiting loops of a function ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the steps: gather facts about a loop, judge them, and describe
// the wait.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/SpinLoops.h"

#include "passes/analysis/Gather.h"
#include "passes/analysis/Judge.h"
#include "passes/analysis/LoopView.h"

#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace vfriendly {

/// For the experiment of test/rigs/corpus/README.md: what each rule is worth.
static cl::opt<std::string>
    Without("vf-spin-without", cl::Hidden,
            cl::desc("Switch off this rule of passes/analysis/Rules.def"));

const Poll *SpinLoop::uniquePoll() const {
  const Poll *Unique = nullptr;
  for (const Poll &P : Polls) {
    if (P.OnlyLocates)
      continue;
    if (!P.Address || P.Varies)
      return nullptr;
    if (!Unique || (P.Address == Unique->Address && Unique->ReadModifyWrite)) {
      Unique = &P; // Prefers a read to an attempt to take the lock.
      continue;
    }
    if (P.Address != Unique->Address)
      return nullptr;
  }
  return Unique;
}

/// Returns true if no exit of the loop waits, and one tests words that the loop
/// reads in turn, such as those of several queues. A loop that ends when it has
/// read them all once does not wait for any.
static bool mayPollInTurn(const LoopView &In, const Facts &Of) {
  auto Has = [&](CauseSet C) {
    return any_of(Of.Exits,
                  [&](const Leaf &E) { return (E.Whole.Causes & C) != 0; });
  };
  return In.Waiting.empty() && Has(InTurn) && !Has(Rotates);
}

Gathered gather(Loop &L, Surroundings &Around) {
  LoopView In(L, Around);
  Gathered G;
  auto IsRejected = [&](Stage Known) {
    G.Of.Known = Known;
    return !judge(G.Of, Without).Waits;
  };
  gatherEffects(In, G);
  gatherHints(In, G);
  if (IsRejected(Stage::Effects))
    return G;
  // The author says that the loop waits. So a function with unknown effects may
  // be what it polls by.
  if (G.Of.Rhythm == HintRhythm::Pauses)
    In.Causes.takeCallsAsPolls();
  gatherExits(In, G);
  if (G.Of.Rhythm == HintRhythm::Pauses && mayPollInTurn(In, G.Of)) {
    G.Of.PollsInTurn = true;
    G.Of.Exits.clear();
    In.OwnConditions.clear();
    In.Causes.takeTurnsAsPolls();
    gatherExits(In, G);
  }
  gatherPolls(In, G);
  if (IsRejected(Stage::Exits))
    return G;
  gatherGuards(In, G);
  gatherProgress(In, G);
  if (IsRejected(Stage::Progress))
    return G;
  gatherRetries(In, G);
  gatherSurroundings(In, G);
  G.Of.Known = Stage::Kind;
  return G;
}

SpinLoopInfo findSpinLoops(Function &, LoopInfo &LI, const DominatorTree &DT,
                           VariableFacts &Variables) {
  Surroundings Around(LI, DT, Variables);
  SmallVector<Loop *, 8> Loops = LI.getLoopsInPreorder();
  for (Loop *L : reverse(Loops)) {
    Gathered G = gather(*L, Around);
    Verdict V = judge(G.Of, Without);
    if (!V.Waits)
      continue;
    SpinLoop S;
    S.L = L;
    S.Kind = V.Kind;
    S.Polls = std::move(G.Polls);
    S.Bounded = V.Bounded;
    S.ByClock = V.ByClock;
    S.Gated = V.Gated;
    S.InTurn = V.InTurn;
    S.Bound = V.Bound;
    S.Pauses = G.Of.Pauses;
    S.Yields = G.Of.Yields;
    S.Sleeps = G.Of.Sleeps;
    S.AlwaysHints = G.Of.Rhythm == HintRhythm::Pauses && G.Of.HintsItself;
    S.Doubt = std::move(V.Doubt);
    S.Locks = any_of(G.Of.Effects, [](const Effect &E) {
      return E.Undone == Effect::Releases;
    });
    S.Summarized = std::move(G.Summarized);
    Around.Inner.Loops.push_back(std::move(S));
  }
  return std::move(Around.Inner);
}

} // namespace vfriendly
