//===- Doubts.cpp - Waits that cannot be proved ---------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that gives a spin hint in every iteration is intended as a wait, even
// if this cannot be proved: it may poll by a function of another file, keep
// statistics, or sometimes write a log. Such a loop is reported but never
// rewritten.
//
//===----------------------------------------------------------------------===//

#include "passes/common/KeepMarks.h"
#include "passes/common/TellingNames.h"
#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/LoopJudge.h"
#include "passes/spin-loops/RuntimeCalls.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

#include <limits>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

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

/// Returns true if the branch at the end of From compares a counter with a
/// limit, its other successor leads to a spin hint, and the edge to To is a
/// part of the back-off: there, the first iterations only poll, or late
/// iterations call a function that blocks. A hint in every nth iteration does
/// not count, because its branch does not compare with a limit.
///
///   if (n < 10) ; else yield()      if (n < 1000) pause(); else cond_wait()
bool LoopJudge::backsOff(const BasicBlock *From, const BasicBlock *To,
                         const SmallPtrSetImpl<BasicBlock *> &Hinting) {
  auto *Br = dyn_cast<BranchInst>(From->getTerminator());
  auto *Limit = Br && Br->isConditional()
                    ? dyn_cast<ICmpInst>(Br->getCondition())
                    : nullptr;
  if (!Limit || !Limit->isRelational() || LI.getLoopFor(From) != &L ||
      Br->getSuccessor(0) == Br->getSuccessor(1))
    return false;
  BasicBlockEdge Way(From, To),
      Other(From, Br->getSuccessor(Br->getSuccessor(0) == To ? 1 : 0));
  if (none_of(Hinting, [&](BasicBlock *B) { return DT.dominates(Other, B); }))
    return false;
  Causes C = Collector.collect(Limit);
  if (!C.Own || C.Clock || C.Walks || !C.Polls.empty())
    return false;
  bool Blocks = false, Works = false;
  for (Instruction *I : Effects)
    if (DT.dominates(Way, I->getParent())) {
      auto *Call = dyn_cast<CallBase>(I);
      Blocks |= Call && namesBlocking(calledName(*Call));
      Works |= !Call || !isHint(shownOrPromised(*Call));
    }
  return Blocks || !Works;
}

/// Returns true if every iteration that is followed by another one gives a spin
/// hint, backs off in another way, or waits in an inner loop. If OnlyPauses is
/// set, only pauses and yields count: a sleep may be a delay for a device.
bool LoopJudge::everyIterationHints(bool OnlyPauses) {
  SmallPtrSet<BasicBlock *, 8> Hinting;
  for (BasicBlock *B : L.blocks()) {
    // A hint in an inner loop counts as a hint wherever that loop is entered.
    BasicBlock *At = B;
    for (Loop *Sub = LI.getLoopFor(B); Sub && Sub != &L;
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
    for (const SpinLoop &S : Inner.Loops)
      if (S.L != &L && L.contains(S.L) && S.Kind != SpinKind::Retry &&
          S.Kind != SpinKind::Device)
        Hinting.insert(entryOf(*S.L));
  return everyIterationPasses(
      Hinting, [&](const BasicBlock *From, const BasicBlock *To) {
        return backsOff(From, To, Hinting);
      });
}

/// Returns true if L contains a spin hint that is not in an inner waiting loop.
/// Inner waiting loops include those that an earlier run of the pass has
/// rewritten.
bool LoopJudge::hintsItself() const {
  auto IsInWait = [&](const BasicBlock *B) {
    for (Loop *Sub = LI.getLoopFor(B); Sub != &L; Sub = Sub->getParentLoop())
      if (isMarked(*Sub, DecidedMark) ||
          any_of(Inner.Loops, [&](const SpinLoop &S) { return S.L == Sub; }))
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

/// Returns true if each iteration gives a spin hint, by which the author says
/// that the loop waits. If each iteration gives a pause or a yield, also makes
/// the results of calls with unknown effects count as polls from then on.
bool LoopJudge::authorSaysItWaits() {
  if (Effects.size() > MaxEffects || !everyIterationHints(/*OnlyPauses=*/false))
    return false;
  if (everyIterationHints(/*OnlyPauses=*/true))
    Collector.takeCallsAsPolls();
  return true;
}

bool LoopJudge::excuseEffects() {
  // A loop that tests the results of more than two calls in each iteration
  // searches for work to do, so it is not a wait.
  if (count_if(Effects, [&](Instruction *I) {
        auto *Call = dyn_cast<CallBase>(I);
        return Call && promisedEffect(*Call) == CallEffect::Other &&
               (Accesses.contains(I) || Pointers.contains(I));
      }) > 2)
    return false;
  return all_of(Effects, [&](Instruction *I) { return excuse(*I); });
}

/// Returns true if Store adds a constant to what it overwrites, as in
/// ++statistics.waits.
static bool isStatistics(const StoreInst &Store) {
  Value *Old;
  return Store.isSimple() &&
         match(Store.getValueOperand(),
               m_CombineOr(m_Add(m_Value(Old), m_ImmConstant()),
                           m_Sub(m_Value(Old), m_ImmConstant()))) &&
         isa<LoadInst>(Old) &&
         cast<LoadInst>(Old)->getPointerOperand() == Store.getPointerOperand();
}

/// An addition to shared memory by an atomicrmw or inline assembly. It adds or
/// subtracts Amount or, if Amount is null, adds Constant.
struct Addition {
  const Value *Address = nullptr;
  const Value *Amount = nullptr;
  int64_t Constant = 0;
  bool Subtracts = false;

  bool undoes(const Addition &Other) const {
    return Address == Other.Address &&
           (Amount ? Amount == Other.Amount && Subtracts != Other.Subtracts
                   : !Other.Amount && Constant == -Other.Constant);
  }
};

static std::optional<Addition> asAddition(const Instruction &I) {
  Addition Found;
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&I)) {
    Found.Subtracts = RMW->getOperation() == AtomicRMWInst::Sub;
    if (RMW->getOperation() != AtomicRMWInst::Add && !Found.Subtracts)
      return std::nullopt;
    Found.Address = RMW->getPointerOperand();
    Found.Amount = RMW->getValOperand();
  } else {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call || classifyCall(*Call).Effect != CallEffect::AsmAdd)
      return std::nullopt;
    Found.Address = classifyCall(*Call).Address;
    AsmSum Sum =
        sumOfAsm(cast<InlineAsm>(Call->getCalledOperand())->getAsmString());
    Found.Subtracts = Sum.Subtracts;
    for (const Use &Arg : Call->args())
      if (!Arg->getType()->isPointerTy())
        Found.Amount = Arg;
    if (Sum.ByOne)
      Found = {Found.Address, nullptr, Sum.Subtracts ? -1 : 1, false};
    else if (!Found.Amount)
      return std::nullopt;
  }
  if (auto *C = dyn_cast_or_null<ConstantInt>(Found.Amount)) {
    std::optional<int64_t> Number = C->getValue().trySExtValue();
    if (!Number || *Number == std::numeric_limits<int64_t>::min())
      return std::nullopt; // The amount or its negation does not fit.
    Found.Constant = Found.Subtracts ? -*Number : *Number;
    Found.Amount = nullptr;
  }
  return Found;
}

/// Returns true if L also undoes the addition, like a reader that increments
/// the number of readers, then finds a writer and decrements the number again.
static bool isTakenBack(const Addition &A, const Loop &L) {
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, [&](const Instruction &I) {
      std::optional<Addition> Other = asAddition(I);
      return Other && Other->undoes(A);
    });
  });
}

/// Returns true if the block of Effect calls a function whose name shows that
/// the program fails there, such as abort.
static bool isFailing(const Instruction &Effect) {
  return any_of(*Effect.getParent(), [](const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    return Call && whatNameTells(calledName(*Call)) == NameTells::Fails;
  });
}

/// Returns true if no effect of the loop outlasts a failed iteration: each is
/// an addition that the same iteration undoes, is on a path on which the
/// program fails, or is the call of a function that, by its name, reads a
/// clock.
bool LoopJudge::leavesNoTrace() const {
  if (Effects.size() > MaxEffects)
    return false;
  return all_of(Effects, [&](const Instruction *I) {
    std::optional<Addition> A = asAddition(*I);
    auto *Call = dyn_cast<CallBase>(I);
    return (A && isTakenBack(*A, L)) || isFailing(*I) ||
           (Call && promisedEffect(*Call) == CallEffect::Clock);
  });
}

/// A write of a constant to shared memory by a store, an atomic exchange or
/// inline assembly.
struct Announcement {
  const Value *Address, *Said;
};

static std::optional<Announcement> asAnnouncement(const Instruction &I) {
  Announcement Found = {nullptr, nullptr};
  if (auto *Store = dyn_cast<StoreInst>(&I)) {
    Found = {Store->getPointerOperand(), Store->getValueOperand()};
  } else if (auto *RMW = dyn_cast<AtomicRMWInst>(&I)) {
    if (RMW->getOperation() == AtomicRMWInst::Xchg)
      Found = {RMW->getPointerOperand(), RMW->getValOperand()};
  } else if (auto *Call = dyn_cast<CallBase>(&I)) {
    CallClass Class = classifyCall(*Call);
    if (Class.Effect == CallEffect::AsmStore ||
        Class.Effect == CallEffect::AsmTry)
      for (const Use &Arg : Call->args())
        if (!Arg->getType()->isPointerTy())
          Found = {Class.Address, Arg};
  }
  if (!Found.Address || !isa<ConstantInt>(Found.Said))
    return std::nullopt;
  return Found;
}

/// Returns true if L also writes another constant at the same address, like a
/// reader that registers, then finds a writer and deregisters. Each failed
/// iteration then leaves the same value in memory.
static bool isRetracted(const Announcement &A, const Loop &L) {
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, [&](const Instruction &I) {
      std::optional<Announcement> Other = asAnnouncement(I);
      return Other && Other->Address == A.Address && Other->Said != A.Said;
    });
  });
}

/// Returns true if Condition tests a local variable to which the loop only
/// assigns constants, such as a flag that a message was printed: `if (!said)
/// ...`.
bool LoopJudge::isOnce(Value *Condition) const {
  Value *Of;
  if (match(Condition, m_Not(m_Value(Of))) ||
      match(Condition, m_ICmp(m_Value(Of), m_ImmConstant())) ||
      match(Condition, m_Trunc(m_Value(Of))))
    return isOnce(Of);
  auto *Phi = dyn_cast<PHINode>(Condition);
  if (!Phi || Phi->getParent() != L.getHeader())
    return false;
  // Accepts incoming values that are constants or the phi itself, perhaps
  // through phis at joins.
  SmallVector<Value *, 4> Worklist{Phi};
  SmallPtrSet<Value *, 4> Seen;
  while (!Worklist.empty()) {
    Value *V = Worklist.pop_back_val();
    auto *P = dyn_cast<PHINode>(V);
    if (isa<Constant>(V) || !Seen.insert(V).second)
      continue;
    if (!P || !L.contains(P))
      return false;
    append_range(Worklist, P->incoming_values());
  }
  return true;
}

/// Returns true if B runs at most once in a wait, in every nth iteration only,
/// or only after a time has passed: whether it runs is decided by a branch on a
/// counter, on a clock, or on a variable for which isOnce holds.
bool LoopJudge::isRare(BasicBlock *B) {
  for (BasicBlock *D : L.blocks()) {
    auto *Br = dyn_cast<BranchInst>(D->getTerminator());
    if (!Br || !Br->isConditional() || D == B || !DT.dominates(D, B) ||
        LI.getLoopFor(D) != &L || !L.contains(Br->getSuccessor(0)) ||
        !L.contains(Br->getSuccessor(1)))
      continue;
    if (none_of(successors(D), [&](BasicBlock *S) {
          return DT.dominates(BasicBlockEdge(D, S), B);
        }))
      continue;
    Causes C = Collector.collect(Br->getCondition());
    // A loop that sleeps and then reads the clock is a periodic job.
    if (C.Own || (C.Clock && everyIterationHints(/*OnlyPauses=*/true)) ||
        isOnce(Br->getCondition()))
      return true;
  }
  return false;
}

bool LoopJudge::excuse(Instruction &Effect) {
  auto Doubt = [&](std::string Why) {
    if (Found.Doubt.empty())
      Found.Doubt = std::move(Why);
    return true;
  };
  for (Instruction &I : *Effect.getParent())
    if (auto *Call = dyn_cast<CallBase>(&I))
      if (whatNameTells(calledName(*Call)) == NameTells::Fails)
        return Doubt("it calls '" + calledName(*Call) + "', which may return");
  if (std::optional<Addition> A = asAddition(Effect))
    return isTakenBack(*A, L) &&
           Doubt("each iteration undoes its change of shared memory");
  if (std::optional<Announcement> A = asAnnouncement(Effect))
    if (isRetracted(*A, L))
      return Doubt("each iteration registers the thread and retracts that");
  auto *Call = dyn_cast<CallBase>(&Effect);
  // Accepts a notify that the pass has inserted after a store, because the
  // store is examined separately.
  if (Call && calls(*Call, NotifyFunction))
    return true;
  if (Call && (promisedEffect(*Call) != CallEffect::Other ||
               ((Accesses.contains(Call) || Pointers.contains(Call)) &&
                !namesWork(calledName(*Call))))) {
    std::string Name = calledName(*Call);
    return Doubt("it calls " +
                 (Name.empty() ? "a function" : "'" + Name + "'") +
                 ", whose effects are unknown");
  }
  if (auto *Store = dyn_cast<StoreInst>(&Effect)) {
    if (isStatistics(*Store))
      return Doubt("it keeps a count in shared memory");
    if (isa<AllocaInst>(getUnderlyingObject(Store->getPointerOperand())))
      return Doubt(
          "it writes a variable that the functions it calls may access");
  }
  if (isRare(Effect.getParent()))
    return Doubt("some of its iterations do more than poll");
  return false;
}

} // namespace vfriendly
