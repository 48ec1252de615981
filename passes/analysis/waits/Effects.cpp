//===- Effects.cpp - Effects of a loop besides waiting --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/TellingNames.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Changes.h"
#include "passes/analysis/waits/LoopView.h"
#include "passes/common/RuntimeCalls.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

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

static bool adds(const Instruction &I) {
  std::optional<Change> By = changeBy(I);
  return By && By->How == Change::Adds;
}

/// Returns the name of a function that B calls and that, by its name, does not
/// return, such as abort; empty if there is none.
static std::string failingCall(const BasicBlock &B) {
  for (const Instruction &I : B)
    if (auto *Call = dyn_cast<CallBase>(&I))
      if (std::string Name = calledName(*Call);
          whatNameTells(Name) == NameTells::Fails)
        return Name;
  return "";
}

/// Returns true if L also tries to take a lock, other than by the call I, by a
/// function of another file: a loop that holds one lock while it tries another,
/// and gives the first up to avoid a deadlock, does more than wait.
static bool triesOther(const Instruction &I, const Loop &L) {
  auto *Call = dyn_cast<CallBase>(&I);
  return Call && classifyCall(*Call).Effect == CallEffect::Other &&
         any_of(L.blocks(), [&](const BasicBlock *B) {
           return any_of(*B, [&](const Instruction &Other) {
             auto *Try = dyn_cast<CallBase>(&Other);
             return Try && Try != Call &&
                    promisedEffect(*Try) == CallEffect::TryLock;
           });
         });
}

/// Returns what I leaves behind, as far as it does not depend on when I runs.
static Effect::Trace traceOf(const Instruction &I, const Loop &L) {
  if (std::optional<Change> By = changeBy(I); By && isUndone(*By, L))
    return By->How == Change::Adds   ? Effect::TakesBack
           : By->How == Change::Sets ? Effect::Retracts
           : triesOther(I, L)        ? Effect::Work
                                     : Effect::Releases;
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
    return RMW->use_empty() && match(RMW->getValOperand(), m_One()) &&
                   RMW->getOrdering() == AtomicOrdering::Monotonic && adds(I)
               ? Effect::Counts
               : Effect::Work;
  auto Written = [](const Value *Address) {
    return isa<AllocaInst>(getUnderlyingObject(Address)) ? Effect::Locally
                                                         : Effect::Work;
  };
  if (auto *Memory = dyn_cast<MemIntrinsic>(&I))
    return Written(Memory->getDest());
  if (auto *Call = dyn_cast<CallBase>(&I))
    return calls(*Call, NotifyFunction) ? Effect::Nothing
           : adds(I)                    ? Effect::Work
                                        : Effect::Calls;
  auto *Store = dyn_cast<StoreInst>(&I);
  if (!Store)
    return Effect::Work;
  if (isRepeated(*Store, L))
    return Effect::Nothing;
  return isStatistics(*Store, L) ? Effect::Counts
                                 : Written(Store->getPointerOperand());
}

/// Describes I, an instruction of a block that calls Failing.
static Effect describe(const Instruction &I, const Loop &L,
                       const std::string &Failing) {
  Effect E;
  E.Leaves = traceOf(I, L);
  E.Callee = Failing;
  // A loop that fails in each iteration goes on, so the call does return.
  if (!E.Callee.empty() && !everyIterationPasses(L, I.getParent()))
    E.Leaves = Effect::Fails;
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    E.Promised = promisedEffect(*Call);
    // A lock that is not released, and another try in each iteration, are
    // effects.
    if (E.Promised == CallEffect::Lock ||
        (E.Promised == CallEffect::TryLock && !repeatsCall(*Call, L)))
      E.Promised = CallEffect::Other;
    E.PassesOn = passesObjectOn(*Call);
    if (E.Callee.empty())
      E.Callee = calledName(*Call);
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
  const BasicBlock *Block = nullptr;
  std::string Failing;
  for (const Instruction *I : In.Effects) {
    if (std::exchange(Block, I->getParent()) != I->getParent())
      Failing = failingCall(*Block);
    G.Of.Effects.push_back(describe(*I, In.L, Failing));
  }
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
  CellStep Is = stepOf(*Phi, L);
  return Is.By == Step::Same && !Is.SetsSeveral;
}

/// Returns true if Condition tells whether a library's lock could be taken or
/// released, which fails only by mistake.
static bool testsLock(const Value *Condition) {
  const Value *Of;
  auto *Call = match(Condition, m_ICmp(m_Value(Of), m_Zero()))
                   ? dyn_cast<CallBase>(Of)
                   : nullptr;
  return Call && classifyCall(*Call).Effect == CallEffect::Lock;
}

/// Returns true if B runs at most once in a wait, in every nth iteration only,
/// or only after a time has passed: whether it runs is decided by a branch on a
/// counter, on a clock, on a variable for which isOnce holds, or on the error
/// of a lock.
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
        isOnce(Br->getCondition(), In.L) || testsLock(Br->getCondition()))
      return true;
  }
  return false;
}

/// Returns true if B runs only after a try has succeeded: other iterations give
/// a hint, or an exit tests a value that is a constant unless control has
/// passed B.
static bool runsOnSuccess(const LoopView &In, const BasicBlock *B) {
  if (any_of(In.Finds, [&](const BasicBlockEdge &Way) {
        return In.DT.dominates(Way, B);
      }))
    return true;
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
  std::optional<Change> By = changeBy(I);
  return !(By && isUndone(*By, In.L)) &&
         none_of(G.Polls, [&](const Poll &P) { return P.Access == &I; });
}

/// Returns true if I begins or ends an object that lives for one iteration,
/// such as one that enters a read section and leaves it.
static bool isScoped(const Instruction &I, const Loop &L) {
  auto Object = [](const Instruction &I) -> const Value * {
    auto *Call = dyn_cast<CallBase>(&I);
    return Call && beginsOrEndsObject(*Call) ? Call->getArgOperand(0) : nullptr;
  };
  auto Ends = [](const Instruction &I) {
    return isDestructor(*cast<CallBase>(I).getCalledFunction());
  };
  return Object(I) && any_of(L.blocks(), [&](const BasicBlock *B) {
           return any_of(*B, [&](const Instruction &Other) {
             return Object(Other) == Object(I) && Ends(Other) != Ends(I);
           });
         });
}

/// Returns true if A and B have the same value in an iteration, but for what
/// others write.
static bool isSameValue(const Value *A, const Value *B) {
  auto *OfA = dyn_cast<LoadInst>(A), *OfB = dyn_cast<LoadInst>(B);
  return A == B ||
         (OfA && OfB && OfA->getPointerOperand() == OfB->getPointerOperand());
}

/// Returns true if I repeats a call by which the loop polls, as a macro does
/// that uses its argument twice.
static bool repeatsPoll(const Instruction &I, const Gathered &G) {
  auto *Call = dyn_cast<CallBase>(&I);
  return Call && Call->getCalledFunction() &&
         any_of(G.Polls, [&](const Poll &P) {
           auto *Other = dyn_cast<CallBase>(P.Access);
           return Other &&
                  Other->getCalledFunction() == Call->getCalledFunction() &&
                  equal(Call->args(), Other->args(), isSameValue);
         });
}

/// Returns true if Number, or what it is converted to, is compared for order:
/// how much is left, and not what state something is in.
static bool isOrdered(const Value &Number) {
  return any_of(Number.users(), [](const User *U) {
    if (auto *Compare = dyn_cast<CmpInst>(U))
      return !Compare->isEquality();
    return isa<CastInst, FreezeInst>(U) && isOrdered(*U);
  });
}

/// Returns the polls of a local number whose address the call I gets, and so
/// puts there what the loop waits for. An object may be the one that the
/// function works on.
///
///   while (!done) { test(&request, &done); usleep(100); }
static SmallVector<Poll *, 2> polledFilledBy(const Instruction &I,
                                             Gathered &G) {
  SmallVector<Poll *, 2> Filled;
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call || namesWork(calledName(*Call)))
    return Filled;
  for (const Value *Arg : Call->args()) {
    const Value *Local =
        Arg->getType()->isPointerTy() ? getUnderlyingObject(Arg) : nullptr;
    auto *Number = dyn_cast_or_null<AllocaInst>(Local);
    if (Number && Number->getAllocatedType()->isSingleValueType())
      for (Poll &P : G.Polls)
        if (P.Address && getUnderlyingObject(P.Address) == Local &&
            !isOrdered(*P.Access))
          Filled.push_back(&P);
  }
  return Filled;
}

/// Returns true if Call writes to a standard stream of C++, perhaps by what a
/// call has returned that did so: std::cerr << "waiting" << '\n'.
static bool writesToStream(const CallBase &Call) {
  const Value *To = &Call;
  // Eight: a message has some parts.
  for (unsigned Parts = 0; Parts != 8; ++Parts) {
    auto *Writes = dyn_cast<CallBase>(To);
    if (!Writes || Writes->arg_empty() ||
        !is_contained(
            {"operator<<", "__ostream_insert", "endl", "flush", "put"},
            calledName(*Writes)))
      break;
    To = Writes->getArgOperand(0)->stripPointerCasts();
  }
  auto *Stream = dyn_cast<GlobalVariable>(To);
  return Stream &&
         is_contained({"_ZSt4cout", "_ZSt4cerr", "_ZSt4clog", "_ZNSt3__14coutE",
                       "_ZNSt3__14cerrE", "_ZNSt3__14clogE"},
                      Stream->getName());
}

/// Returns true if Call prints a message, by its name, and the numbers in it do
/// not change but with what the loop waits for, or with its progress: it says
/// that the loop waits. A loop that prints other numbers reports them.
static bool printsWait(LoopView &In, const CallBase &Call) {
  return (whatNameTells(calledName(Call)) == NameTells::Prints ||
          writesToStream(Call)) &&
         all_of(Call.args(), [&](Value *Arg) {
           Causes C = In.Causes.collect(Arg);
           return !(C.kinds() & (Walks | InTurn)) &&
                  (Arg->getType()->isPointerTy() ||
                   all_of(C.Polls, [&](Instruction *I) {
                     return In.Accesses.contains(I) || In.Pointers.contains(I);
                   }));
         });
}

/// Returns true if only its name tells that I takes or releases a lock.
static bool isLockByName(const Instruction &I) {
  auto *Call = dyn_cast<CallBase>(&I);
  return Call && classifyCall(*Call).Effect == CallEffect::Other;
}

/// Decides about the effects that depend on when they occur and on what the
/// exits test, and adds exchanges on whose results no exit depends: another
/// thread may wait for the value, as in `while (!stop) slot.exchange(1);`.
void gatherGuards(LoopView &In, Gathered &G) {
  bool Pauses = G.Of.Rhythm == HintRhythm::Pauses;
  for (auto [I, E] : zip_equal(In.Effects, G.Of.Effects)) {
    if (E.Leaves == Effect::Fails || E.Leaves == Effect::TakesBack)
      continue;
    BasicBlock *B = I->getParent();
    bool IsRare = isRare(In, B, Pauses);
    bool OnSuccess = !IsRare && G.Of.Rhythm != HintRhythm::None &&
                     !everyIterationPasses(In.L, B) && runsOnSuccess(In, B);
    if (E.Leaves == Effect::Releases) {
      E.ByName = !IsRare && !OnSuccess && isLockByName(*I);
      continue;
    }
    if (OnSuccess) {
      E.Leaves = Effect::Succeeds;
      continue;
    }
    // A hint in each iteration tells more than the callee's name.
    bool IsPoll =
        (Pauses && (E.PassesOn || In.Asked.contains(I))) ||
        (G.Of.Rhythm != HintRhythm::None && isScoped(*I, In.L)) ||
        any_of(G.Polls, [&, I = I](const Poll &P) { return P.Access == I; }) ||
        repeatsPoll(*I, G);
    if (E.Leaves == Effect::Calls) {
      bool IsTry = E.Promised == CallEffect::TryLock;
      bool Waits = (IsPoll && (Pauses || !namesWork(E.Callee))) ||
                   (E.Promised != CallEffect::Other && !IsTry);
      SmallVector<Poll *, 2> Filled = polledFilledBy(*I, G);
      for (Poll *P : Filled)
        P->FilledBy = cast<CallBase>(I);
      bool MayWait = IsTry || !Filled.empty() ||
                     (!IsRare && G.Of.Rhythm != HintRhythm::None &&
                      hintsItself(In) && printsWait(In, cast<CallBase>(*I)));
      E.Leaves = Waits || MayWait ? Effect::Unknown : Effect::Work;
      E.ByName = !Waits && MayWait && !IsRare;
    }
    if (E.Leaves == Effect::Work && IsRare && !adds(*I))
      E.Leaves = Effect::Rarely;
  }
  for (BasicBlock *B : In.L.blocks())
    if (In.LI.getLoopFor(B) == &In.L &&
        any_of(*B, [&](Instruction &I) { return exchangesUnasked(In, G, I); }))
      G.Of.Effects.emplace_back();
}

} // namespace vfriendly
