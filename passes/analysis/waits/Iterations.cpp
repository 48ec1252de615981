//===- Iterations.cpp - Hints and progress of each iteration --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether each iteration gives a spin hint, and what it carries to the next.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/KeepMarks.h"
#include "passes/analysis/common/TellingNames.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/LoopView.h"
#include "passes/common/LLVMVersions.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

bool everyWayPasses(const Loop &L, const BasicBlock *Start,
                    const SmallPtrSetImpl<const BasicBlock *> &Blocks,
                    EdgeTest Ends) {
  SmallVector<const BasicBlock *, 8> Worklist{Start};
  SmallPtrSet<const BasicBlock *, 8> Seen;
  while (!Worklist.empty()) {
    const BasicBlock *B = Worklist.pop_back_val();
    if (Blocks.contains(B) || !Seen.insert(B).second)
      continue;
    for (const BasicBlock *Next : successors(B)) {
      if (Ends && Ends(B, Next))
        continue;
      if (Next == L.getHeader())
        return false;
      if (L.contains(Next))
        Worklist.push_back(Next);
    }
  }
  return true;
}

bool everyIterationPasses(const Loop &L, const BasicBlock *B) {
  return everyWayPasses(L, L.getHeader(),
                        SmallPtrSet<const BasicBlock *, 1>({B}));
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

static CallEffect shownOrPromised(const CallBase &Call) {
  CallEffect Effect = classifyCall(Call).Effect;
  return Effect == CallEffect::Other ? promisedEffect(Call) : Effect;
}

/// Returns the block in which control reaches the inner loop Sub, even if Sub
/// then has no iteration: the header of Sub, or the block that tests c in a
/// while loop that was rotated into `if (c) do ... while (c)`.
static BasicBlock *entryOf(const Loop &Sub) {
  BasicBlock *Header = Sub.getHeader();
  BasicBlock *Before = Sub.getLoopPredecessor();
  SmallVector<BasicBlock *, 4> Exits;
  Sub.getExitBlocks(Exits);
  if (Before && Before->getSingleSuccessor() && Before->getSinglePredecessor())
    Before = Before->getSinglePredecessor(); // A preheader.
  bool Skips = Before && any_of(successors(Before), [&](BasicBlock *S) {
                 return is_contained(Exits, S);
               });
  return Skips ? Before : Header;
}

/// Returns true if Condition compares a counter with a limit, and control comes
/// by Way, not by the side that gives a hint, as a part of the back-off: there,
/// the first iterations only poll, or late iterations call a function that
/// blocks, or one that knows only the back-off's own object. A hint in every
/// nth iteration does not count, because its branch does not compare with a
/// limit.
///
///   if (n < 10) ; else yield()      if (n < 1000) pause(); else cond_wait()
static bool backsOff(LoopView &In, Value *Condition, BasicBlockEdge Way) {
  auto *Limit = dyn_cast<ICmpInst>(Condition);
  if (!Limit || !Limit->isRelational())
    return false;
  CauseSet C = In.Causes.collect(Limit).kinds();
  if (!(C & Own) || (C & (Clock | Walks)))
    return false;
  auto IsLocal = [](const Value *V) {
    return V->getType()->isPointerTy() &&
           isLocalObject(*getUnderlyingObject(V));
  };
  bool Blocks = false, Works = false;
  for (Instruction *I : In.Effects)
    if (In.DT.dominates(Way, I->getParent())) {
      auto *Call = dyn_cast<CallBase>(I);
      Blocks |= Call && (namesBlocking(calledName(*Call)) ||
                         (!Call->arg_empty() && all_of(Call->args(), IsLocal)));
      Works |= !Call || !isHint(shownOrPromised(*Call));
    }
  // A counter that is reset after a wait also depends on what ends the wait.
  return Blocks || (!Works && !(C & Polled));
}

/// Returns true if Condition tells that the iteration has found something, and
/// therefore goes on by Way, without a hint: a function has said so and nothing
/// more is done, or what it has read with a lock held. Notes the calls that are
/// asked. If it works on what it finds without a lock, it may find something
/// most of the time.
///
///   if (!progress())              lock(); job = take(); unlock();
///     yield();                    if (job) run(job); else yield();
static bool findsSomething(LoopView &In, Value *Condition, BasicBlockEdge Way) {
  CauseCollector Asked(In.L, In.DT, In.Around.Variables);
  Asked.takeCallsAsPolls();
  Causes C = Asked.collect(Condition);
  if ((C.kinds() & (Own | Clock | Walks | Rotates)) || C.Polls.empty())
    return false;
  bool Works = false, Locks = false;
  for (const Instruction *I : In.Effects) {
    auto *Call = dyn_cast<CallBase>(I);
    Works |= In.DT.dominates(Way, I->getParent());
    Locks |= Call && classifyCall(*Call).Effect == CallEffect::Lock;
  }
  if (!Locks && (Works || none_of(C.Polls, [](const Instruction *I) {
                   return isa<CallBase>(I) || isMarkedAccess(*I);
                 })))
    return false;
  for (Instruction *I : C.Polls)
    In.Asked.insert(I);
  return true;
}

/// Returns true if every iteration that is followed by another one gives a spin
/// hint, backs off in another way, or waits in an inner loop. If OnlyPauses is
/// set, only pauses and yields count: a sleep may be a delay for a device.
static bool everyIterationHints(LoopView &In, bool OnlyPauses) {
  Loop &L = In.L;
  SmallPtrSet<const BasicBlock *, 8> Hinting;
  for (BasicBlock *B : L.blocks()) {
    // A hint in an inner loop counts as a hint wherever that loop is entered.
    BasicBlock *At = B;
    for (Loop *Sub = In.LI.getLoopFor(B); Sub && Sub != &L;
         Sub = Sub->getParentLoop())
      At = entryOf(*Sub);
    for (Instruction &I : *B) {
      auto *Call = dyn_cast<CallBase>(&I);
      CallEffect Effect = Call ? shownOrPromised(*Call) : CallEffect::Other;
      if (isHint(Effect) && !(OnlyPauses && Effect == CallEffect::Sleep))
        Hinting.insert(At);
    }
  }
  if (!OnlyPauses)
    for (const SpinLoop &S : In.Inner.Loops)
      if (S.L != &L && L.contains(S.L) && S.Kind != SpinKind::Retry &&
          S.Kind != SpinKind::Device)
        Hinting.insert(entryOf(*S.L));
  if (Hinting.empty())
    return false;
  auto AlwaysHints = [&](const BasicBlock *B) {
    return L.contains(B) && B != L.getHeader() && everyWayPasses(L, B, Hinting);
  };
  // An edge by which an iteration gives no hint, unlike by the other one.
  auto IsExcused = [&](const BasicBlock *From, const BasicBlock *To) {
    auto *Br = dyn_cast<BranchInst>(From->getTerminator());
    if (!Br || !Br->isConditional() || In.LI.getLoopFor(From) != &L ||
        Br->getSuccessor(0) == Br->getSuccessor(1) || !L.contains(To) ||
        AlwaysHints(To))
      return false;
    BasicBlockEdge Way(From, To),
        Other(From, Br->getSuccessor(Br->getSuccessor(0) == To ? 1 : 0));
    if (!AlwaysHints(Other.getEnd()) &&
        none_of(Hinting,
                [&](const BasicBlock *B) { return In.DT.dominates(Other, B); }))
      return false;
    if (backsOff(In, Br->getCondition(), Way))
      return true;
    if (!findsSomething(In, Br->getCondition(), Way))
      return false;
    In.Finds.push_back(Way);
    return true;
  };
  return everyWayPasses(L, L.getHeader(), Hinting, IsExcused);
}

/// Returns true if L contains a spin hint that is not in an inner waiting loop.
/// Inner waiting loops include those that an earlier run of the pass has
/// rewritten.
bool hintsItself(const LoopView &In) {
  const Loop &L = In.L;
  auto IsInWait = [&](const BasicBlock *B) {
    for (Loop *Sub = In.LI.getLoopFor(B); Sub != &L; Sub = Sub->getParentLoop())
      if (isMarked(*Sub, DecidedMark) ||
          any_of(In.Inner.Loops, [&](const SpinLoop &S) { return S.L == Sub; }))
        return true;
    return false;
  };
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B)
      if (auto *Call = dyn_cast<CallBase>(&I);
          Call && isHint(shownOrPromised(*Call)) && !IsInWait(B))
        return true;
  return false;
}

/// Returns true if an exit tests a local object, and the loop goes on while the
/// object is null or empty.
static bool goesOnWithout(const LoopView &In) {
  auto Goes = [](const ExitLeaf &Leaf) {
    Value *Tested = Leaf.Condition, *Left;
    bool StaysIfZero = !Leaf.StaysIf;
    CmpPredicate Is;
    if (match(Leaf.Condition, m_ICmp(Is, m_Value(Left), m_Zero())) &&
        ICmpInst::isEquality(Is)) {
      Tested = Left;
      StaysIfZero = (Is == ICmpInst::ICMP_EQ) == Leaf.StaysIf;
    } else if (match(Leaf.Condition, m_Trunc(m_Value(Left)))) {
      Tested = Left;
    }
    auto *Load = dyn_cast<LoadInst>(Tested);
    return StaysIfZero && Load &&
           isLocalObject(*getUnderlyingObject(Load->getPointerOperand()));
  };
  SmallVector<BasicBlock *, 4> Exiting;
  In.L.getExitingBlocks(Exiting);
  return any_of(Exiting, [&](BasicBlock *B) {
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    return Br && any_of(leavesOf(Br->getCondition(),
                                 In.L.contains(Br->getSuccessor(0))),
                        Goes);
  });
}

/// Returns true if all that the loop does is to try by a function that is seen
/// to have no effect when it fails (TryAttribute), until an object is returned.
/// Such a loop waits even without a hint.
static bool onlyTries(const LoopView &In, const Facts &Of) {
  bool Tries = false;
  for (auto [I, E] : zip_equal(In.Effects, Of.Effects)) {
    auto *Call = dyn_cast<CallBase>(I);
    bool IsTry = Call && Call->hasFnAttr(TryAttribute);
    Tries |= IsTry;
    if (!IsTry && !E.PassesOn && E.Leaves != Effect::Locally)
      return false;
  }
  return Tries && goesOnWithout(In);
}

/// Finds the loop's hints, and whether each iteration gives one. A loop that
/// only tries counts as if it did.
void gatherHints(LoopView &In, Gathered &G) {
  if (G.Of.Effects.size() > MaxEffects)
    return;
  auto Note = [&](CallEffect Effect) {
    G.Of.Pauses |= Effect == CallEffect::Pause;
    G.Of.Yields |= Effect == CallEffect::Yield;
    G.Of.Sleeps |= Effect == CallEffect::Sleep;
  };
  for (BasicBlock *B : In.L.blocks())
    for (Instruction &I : *B)
      if (auto *Call = dyn_cast<CallBase>(&I))
        Note(classifyCall(*Call).Effect);
  for (const Effect &E : G.Of.Effects)
    Note(E.Promised);
  G.Of.OnlyTries = onlyTries(In, G.Of);
  if (G.Of.OnlyTries) {
    G.Of.Rhythm = HintRhythm::Pauses;
    return;
  }
  if ((!G.Of.hints() && In.Inner.Loops.empty()) ||
      !everyIterationHints(In, /*OnlyPauses=*/false))
    return;
  G.Of.Rhythm = HintRhythm::Hints;
  if (everyIterationHints(In, /*OnlyPauses=*/true))
    G.Of.Rhythm = HintRhythm::Pauses;
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

/// Returns the instructions that decide the number of iterations, of the loop
/// and of delays inside it.
static SmallPtrSet<const Value *, 16> decidingValues(const LoopView &In) {
  const Loop &L = In.L;
  SmallPtrSet<const Value *, 16> Deciding;
  SmallVector<Value *, 16> Worklist(In.OwnConditions.begin(),
                                    In.OwnConditions.end());
  for (BasicBlock *B : L.blocks()) {
    Loop *Sub = In.LI.getLoopFor(B);
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    if (Sub != &L && Br && Br->isConditional() && Sub->isLoopExiting(B))
      Worklist.push_back(Br->getCondition());
  }
  while (!Worklist.empty()) {
    auto *I = dyn_cast<Instruction>(Worklist.pop_back_val());
    if (I && L.contains(I) && Deciding.insert(I).second)
      append_range(Worklist, I->operands());
  }
  return Deciding;
}

/// Returns what Phi, which depends on the loop's own progress, leaves behind. A
/// loop whose number of iterations is computed, or that computes a value for
/// later, does work. It may count its iterations; but one that reads plain
/// memory and does not give a hint in each iteration more likely counts
/// elements.
static Effect::Trace traceOf(PHINode &Phi, const Loop &L, bool Decides,
                             bool CountsElements) {
  auto IsUsedOutside = [&](const Value *V) {
    return any_of(V->users(), [&](const User *U) {
      return !L.contains(cast<Instruction>(U));
    });
  };
  bool LivesOn = IsUsedOutside(&Phi);
  for (unsigned I = 0; I != Phi.getNumIncomingValues(); ++I) {
    Value *In = Phi.getIncomingValue(I);
    LivesOn |= L.contains(Phi.getIncomingBlock(I)) && isa<Instruction>(In) &&
               IsUsedOutside(In);
  }
  Step By = stepOf(Phi, L).By;
  if (Decides)
    return By == Step::Works ? Effect::Work : Effect::Nothing;
  if (!LivesOn)
    return Effect::Nothing;
  return By <= Step::Counts && !CountsElements ? Effect::Keeps : Effect::Work;
}

/// Returns true if an operation within V combines what others may write with
/// the loop's own progress, as in `map & (1 << i)`.
static bool combinesProgress(LoopView &In, Value *V, unsigned Depth = 0) {
  // Maximum depth: the result is masked, shifted and narrowed.
  static constexpr unsigned MaxDepth = 4;
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !In.L.contains(I) || !isa<BinaryOperator, CastInst>(I) ||
      Depth == MaxDepth)
    return false;
  bool Reads = false, Moves = false;
  for (Value *Operand : I->operands()) {
    CauseSet C = In.Causes.collect(Operand).kinds();
    Moves |= (C & Own) != 0;
    Reads |= (C & Polled) && !(C & Own);
  }
  return (Reads && Moves) || any_of(I->operands(), [&](Value *Operand) {
           return combinesProgress(In, Operand, Depth + 1);
         });
}

CauseSet foundByProgress(LoopView &In, BasicBlock *Exiting) {
  SmallVector<Value *, 8> Worklist;
  for (BasicBlock *B : In.L.blocks()) {
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    // A comparison that ends the loop is a bound.
    if (Br && Br->isConditional() && B != Exiting &&
        all_of(successors(B),
               [&](BasicBlock *S) { return In.L.contains(S); }) &&
        any_of(successors(B), [&](BasicBlock *S) {
          return In.DT.dominates(BasicBlockEdge(B, S), Exiting);
        }))
      Worklist.push_back(Br->getCondition());
  }
  CauseSet Found = 0;
  SmallPtrSet<const Value *, 8> Seen;
  while (!Worklist.empty()) {
    Value *V = Worklist.pop_back_val(), *A, *B;
    if (!Seen.insert(V).second)
      continue;
    if (match(V, m_Not(m_Value(A)))) {
      Worklist.push_back(A);
    } else if (match(V, m_LogicalAnd(m_Value(A), m_Value(B))) ||
               match(V, m_LogicalOr(m_Value(A), m_Value(B)))) {
      Worklist.append({A, B});
    } else if (auto *Compare = dyn_cast<ICmpInst>(V)) {
      CauseSet C = In.Causes.collect(V).kinds();
      if ((C & Polled) && (C & Own))
        Found |= combinesProgress(In, Compare->getOperand(0)) ||
                         combinesProgress(In, Compare->getOperand(1))
                     ? Walks
                     : Own;
    }
  }
  return Found;
}

void gatherProgress(LoopView &In, Gathered &G) {
  const Loop &L = In.L;
  SmallPtrSet<const Value *, 16> Deciding = decidingValues(In);
  bool CountsElements = G.Of.Rhythm != HintRhythm::Pauses &&
                        any_of(G.Of.Polls, [](const PollFact &P) {
                          return P.Plain && !P.OnlyLocates;
                        });
  for (PHINode &Phi : L.getHeader()->phis())
    if (In.Causes.collect(&Phi).kinds() & (Own | Walks)) {
      G.Of.Effects.emplace_back();
      G.Of.Effects.back().Leaves =
          traceOf(Phi, L, Deciding.contains(&Phi), CountsElements);
    }
  // A loop that may end by itself and gives no hint traverses what it reads at
  // another address in each iteration.
  if (In.OwnConditions.empty() || G.Of.hints())
    return;
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B)
      if (auto *Load = dyn_cast<LoadInst>(&I);
          Load && (In.Causes.collect(Load->getPointerOperand()).kinds() &
                   (Own | Walks | Inner))) {
        G.Of.Effects.emplace_back();
        return;
      }
}

} // namespace vfriendly
