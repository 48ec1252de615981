//===- Effects.cpp - Effects of a loop besides waiting --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/TellingNames.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/LoopView.h"
#include "passes/common/RuntimeCalls.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

#include <limits>
#include <optional>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Returns true if the operation is idempotent: repeating it in L leaves memory
/// as after the first execution.
static bool isIdempotent(const AtomicRMWInst &RMW, const Loop &L) {
  if (!L.isLoopInvariant(withoutCasts(RMW.getValOperand())))
    return false;
  switch (RMW.getOperation()) {
  case AtomicRMWInst::Xchg:
  case AtomicRMWInst::Or:
  case AtomicRMWInst::And:
  case AtomicRMWInst::Max:
  case AtomicRMWInst::Min:
  case AtomicRMWInst::UMax:
  case AtomicRMWInst::UMin:
    return true;
  case AtomicRMWInst::Add: // fetch_add(x, 0), an atomic read
  case AtomicRMWInst::Sub:
  case AtomicRMWInst::Xor:
    return match(RMW.getValOperand(), m_Zero());
  default:
    return false;
  }
}

bool mayHaveEffect(const Instruction &I, const Loop &L, const LoopInfo &LI) {
  if (auto *Memory = dyn_cast<MemIntrinsic>(&I))
    return mayBeShared(Memory->getDest());
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    CallClass Class = classifyCall(*Call);
    // Ignores a wait that an earlier run of the pass has inserted into an inner
    // loop of L.
    if (calls(*Call, WaitFunction))
      return LI.getLoopFor(I.getParent()) == &L;
    if (Class.Effect == CallEffect::AsmStore)
      return mayBeShared(Class.Address);
    return Class.Effect == CallEffect::AsmAdd ||
           Class.Effect == CallEffect::Lock ||
           Class.Effect == CallEffect::Other;
  }
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return mayBeShared(Store->getPointerOperand());
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
    return !isIdempotent(*RMW, L);
  if (isa<LoadInst, AtomicCmpXchgInst, FenceInst>(I))
    return false;
  return I.mayReadOrWriteMemory() || isa<AllocaInst>(I) || I.isEHPad();
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

/// Returns the name of a function that the block of Effect calls and that, by
/// its name, does not return, such as abort; empty if there is none.
static std::string failingCall(const Instruction &Effect) {
  for (const Instruction &I : *Effect.getParent())
    if (auto *Call = dyn_cast<CallBase>(&I))
      if (std::string Name = calledName(*Call);
          whatNameTells(Name) == NameTells::Fails)
        return Name;
  return "";
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

/// Returns the lock that Call takes or releases; for a lock that a local
/// variable names, such as std::lock_guard, what is stored there.
static const Value *lockOf(const CallBase &Call) {
  const Value *Lock = Call.getArgOperand(0);
  auto *Load = dyn_cast<LoadInst>(Lock);
  auto *Local =
      Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
  const Value *Stored = nullptr;
  if (Local)
    for (const User *U : Local->users())
      if (auto *Store = dyn_cast<StoreInst>(U);
          Store && Store->getPointerOperand() == Local) {
        if (Stored && Stored != Store->getValueOperand())
          return Lock;
        Stored = Store->getValueOperand();
      }
  return Stored ? Stored : Lock;
}

/// Returns true if Call takes or releases a lock, and L also has a call of the
/// other kind for the same lock.
static bool isReleased(const CallBase &Call, const Loop &L) {
  auto IsLock = [](const CallBase &C) {
    return classifyCall(C).Effect == CallEffect::Lock && C.arg_size() != 0;
  };
  auto Unlocks = [](const CallBase &C) {
    return StringRef(calledName(C)).contains("unlock");
  };
  return IsLock(Call) && any_of(L.blocks(), [&](const BasicBlock *B) {
           return any_of(*B, [&](const Instruction &I) {
             auto *Other = dyn_cast<CallBase>(&I);
             return Other && IsLock(*Other) && lockOf(*Other) == lockOf(Call) &&
                    Unlocks(*Other) != Unlocks(Call);
           });
         });
}

static Effect::What kindOf(const Instruction &I, const Loop &L) {
  auto *RMW = dyn_cast<AtomicRMWInst>(&I);
  if (asAddition(I))
    return RMW && RMW->use_empty() && match(RMW->getValOperand(), m_One()) &&
                   RMW->getOrdering() == AtomicOrdering::Monotonic
               ? Effect::Statistics
               : Effect::Addition;
  if (auto *Memory = dyn_cast<MemIntrinsic>(&I))
    return isa<AllocaInst>(getUnderlyingObject(Memory->getDest()))
               ? Effect::LocalStore
               : Effect::Other;
  if (auto *Call = dyn_cast<CallBase>(&I))
    return calls(*Call, NotifyFunction) ? Effect::Notify : Effect::Call;
  auto *Store = dyn_cast<StoreInst>(&I);
  if (!Store)
    return Effect::Other;
  if (isStatistics(*Store, L))
    return Effect::Statistics;
  return isa<AllocaInst>(getUnderlyingObject(Store->getPointerOperand()))
             ? Effect::LocalStore
             : Effect::Store;
}

static Effect describe(const Instruction &I, const Loop &L) {
  Effect E;
  E.Kind = kindOf(I, L);
  E.Callee = failingCall(I);
  // A loop that fails in each iteration goes on, so the call does return.
  auto *B = const_cast<BasicBlock *>(I.getParent());
  if (!E.Callee.empty() &&
      !everyIterationPasses(L, SmallPtrSet<BasicBlock *, 1>({B})))
    E.Guard = Effect::Failing;
  if (std::optional<Addition> A = asAddition(I); A && isTakenBack(*A, L))
    E.Undone = Effect::TakesBack;
  else if (std::optional<Announcement> A = asAnnouncement(I);
           A && isRetracted(*A, L))
    E.Undone = Effect::Retracts;
  else if (auto *Store = dyn_cast<StoreInst>(&I);
           Store && isRepeated(*Store, L))
    E.Undone = Effect::Repeats;
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    if (isReleased(*Call, L))
      E.Undone = Effect::Releases;
    std::string Name = calledName(*Call);
    E.Promised = promisedEffect(*Call);
    E.NamesWork = namesWork(Name);
    E.PassesOn = passesObjectOn(*Call);
    if (E.Callee.empty())
      E.Callee = std::move(Name);
  }
  return E;
}

/// Collects the effects that may be visible outside the loop, and the functions
/// that the summary file describes.
void gatherEffects(LoopView &In, Gathered &G) {
  for (BasicBlock *B : In.L.blocks())
    for (Instruction &I : *B) {
      if (auto *Call = dyn_cast<CallBase>(&I))
        if (const Function *Callee = summarizedCallee(*Call))
          G.Summarized = Callee->getName();
      if (!mayHaveEffect(I, In.L, In.LI))
        continue;
      In.Effects.push_back(&I);
      if (In.Effects.size() > MaxEffects) {
        G.Of.Effects.resize(In.Effects.size());
        return;
      }
    }
  for (const Instruction *I : In.Effects)
    G.Of.Effects.push_back(describe(*I, In.L));
}

/// Returns true if Condition tests a local variable to which the loop only
/// assigns constants, such as a flag that a message was printed: `if (!said)
/// ...`.
static bool isOnce(Value *Condition, const Loop &L) {
  Value *Of;
  if (match(Condition, m_Not(m_Value(Of))) ||
      match(Condition, m_ICmp(m_Value(Of), m_ImmConstant())) ||
      match(Condition, m_Trunc(m_Value(Of))))
    return isOnce(Of, L);
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
static bool isRare(LoopView &In, BasicBlock *B, bool Pauses) {
  for (BasicBlock *D : In.L.blocks()) {
    auto *Br = dyn_cast<BranchInst>(D->getTerminator());
    if (!Br || !Br->isConditional() || D == B || !In.DT.dominates(D, B) ||
        In.LI.getLoopFor(D) != &In.L || !In.L.contains(Br->getSuccessor(0)) ||
        !In.L.contains(Br->getSuccessor(1)))
      continue;
    if (none_of(successors(D), [&](BasicBlock *S) {
          return In.DT.dominates(BasicBlockEdge(D, S), B);
        }))
      continue;
    Causes C = In.Causes.collect(Br->getCondition());
    // How often other threads let it run is not known.
    if (any_of(C.Polls,
               [](const Instruction *I) { return isMarkedAccess(*I); }))
      continue;
    // A loop that sleeps and then reads the clock is a periodic job.
    if ((C.kinds() & Own) || ((C.kinds() & Clock) && Pauses) ||
        isOnce(Br->getCondition(), In.L))
      return true;
  }
  return false;
}

/// Returns true if B runs only after a try has succeeded: an exit tests a value
/// that is a constant unless control has passed B.
static bool runsOnSuccess(const LoopView &In, const BasicBlock *B) {
  SmallVector<BasicBlock *, 4> Exiting;
  In.L.getExitingBlocks(Exiting);
  return any_of(Exiting, [&](const BasicBlock *E) {
    auto *Br = dyn_cast<BranchInst>(E->getTerminator());
    if (!Br)
      return false;
    auto Leaves =
        leavesOf(Br->getCondition(), In.L.contains(Br->getSuccessor(0)));
    return any_of(Leaves, [&](const ExitLeaf &Leaf) {
      auto *Compare = dyn_cast<ICmpInst>(Leaf.Condition);
      Value *Tested = Compare ? Compare->getOperand(0) : Leaf.Condition;
      auto *I = dyn_cast<Instruction>(Tested);
      if (!I || !In.L.contains(I))
        return false;
      auto *Phi = dyn_cast<PHINode>(I);
      if (!Phi) // Tested at once.
        return In.DT.dominates(B, I->getParent()) && !isMarkedAccess(*I) &&
               In.DT.dominates(B, E) && isa<LoadInst>(I);
      bool Idles = false, Succeeds = false;
      for (unsigned N = 0; N != Phi->getNumIncomingValues(); ++N) {
        bool IsFixed = isa<Constant>(Phi->getIncomingValue(N));
        bool Passes = In.DT.dominates(B, Phi->getIncomingBlock(N));
        Idles |= IsFixed && !Passes;
        Succeeds |= !IsFixed && Passes;
      }
      return Idles && Succeeds;
    });
  });
}

/// Returns true if I exchanges a value in shared memory, and neither does an
/// exit depend on the result nor does the loop retract it. Or and And are left
/// out: they set bits that are set already.
static bool exchangesUnasked(const LoopView &In, const Gathered &G,
                             const Instruction &I) {
  auto *RMW = dyn_cast<AtomicRMWInst>(&I);
  if (!RMW || RMW->getOperation() == AtomicRMWInst::Or ||
      RMW->getOperation() == AtomicRMWInst::And ||
      match(RMW->getValOperand(), m_Zero()) || !isIdempotent(*RMW, In.L) ||
      !mayBeShared(RMW->getPointerOperand()))
    return false;
  std::optional<Announcement> A = asAnnouncement(I);
  return !(A && isRetracted(*A, In.L)) &&
         none_of(G.Polls, [&](const Poll &P) { return P.Access == &I; });
}

/// Notes which effects are rare, which are calls on whose results the exits
/// depend, and exchanges on whose results none depends.
void gatherGuards(LoopView &In, Gathered &G) {
  for (BasicBlock *B : In.L.blocks())
    if (In.LI.getLoopFor(B) == &In.L)
      for (Instruction &I : *B)
        G.Of.ExchangesUnasked |= exchangesUnasked(In, G, I);
  bool Pauses = G.Of.Rhythm == HintRhythm::Pauses;
  for (auto [I, E] : zip_equal(In.Effects, G.Of.Effects)) {
    E.Polled =
        any_of(G.Polls, [&, I = I](const Poll &P) { return P.Access == I; });
    E.NamesWork &= !Pauses;
    if (E.Guard == Effect::Always && isRare(In, I->getParent(), Pauses))
      E.Guard = Effect::Rarely;
    else if (E.Guard == Effect::Always && G.Of.Rhythm != HintRhythm::None &&
             !everyIterationPasses(
                 In.L, SmallPtrSet<BasicBlock *, 1>({I->getParent()})) &&
             runsOnSuccess(In, I->getParent()))
      E.Guard = Effect::Succeeding;
  }
}

} // namespace vfriendly
