//===- Retries.cpp - Lock-free updates that only look like waits ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop around a compare-and-exchange is either a lock-free update, whose next
// attempt may succeed without any other thread's help, or a wait for the holder
// of a lock. The ways through the loop distinguish them (Alone.h); here is what
// they do not show: values that were read before the loop or computed, numbers
// of places that only grow, and words for which an inner loop has waited.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Alone.h"
#include "passes/analysis/waits/LoopView.h"
#include "passes/common/LLVMVersions.h"

#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

const Value *withoutCasts(const Value *V) {
  while (isa<CastInst, FreezeInst>(V))
    V = cast<Instruction>(V)->getOperand(0);
  return V;
}

Cell cellOf(const Value *Address, const DataLayout &DL) {
  APInt Offset(DL.getIndexTypeSizeInBits(Address->getType()), 0);
  const Value *Base = Address->stripAndAccumulateConstantOffsets(
      DL, Offset, /*AllowNonInbounds=*/true);
  if (std::optional<int64_t> Bytes = Offset.trySExtValue())
    return {Base, *Bytes};
  return {Address, 0};
}

/// Returns true if V is a value read at Address, in the loop or before it.
static bool isReadAt(const Value *V, const Value *Address,
                     const DataLayout &DL) {
  V = withoutCasts(V);
  if (auto *Load = dyn_cast<LoadInst>(V))
    return cellOf(Load->getPointerOperand(), DL) == cellOf(Address, DL);
  auto *Call = dyn_cast<CallBase>(V);
  CallClass Class = Call ? classifyCall(*Call) : CallClass{CallEffect::Other};
  return Class.Effect == CallEffect::AsmLoad &&
         cellOf(Class.Address, DL) == cellOf(Address, DL);
}

/// Returns the accesses on which those exits of Inner, a loop inside L, depend
/// that do not leave L.
static SmallSetVector<Instruction *, 4> pollsOfReturn(const LoopView &In,
                                                      const Loop &Inner) {
  CauseCollector Inside(Inner, In.DT, In.Around.Variables);
  if (In.Causes.takesCallsAsPolls())
    Inside.takeCallsAsPolls();
  SmallSetVector<Instruction *, 4> Polls;
  SmallVector<BasicBlock *, 4> Exiting;
  Inner.getExitingBlocks(Exiting);
  for (BasicBlock *B : Exiting) {
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    if (Br && any_of(successors(B), [&](const BasicBlock *To) {
          return !Inner.contains(To) && In.L.contains(To);
        }))
      for (Instruction *Access : Inside.collect(Br->getCondition()).Polls)
        Polls.insert(Access);
  }
  return Polls;
}

/// Returns true if an inner loop waits until a word is free and the loop then
/// takes that word, or tests it again: `do { while ((v = lock) & 1); } while
/// (!exchange(&lock, v, v | 1))`. Such a loop waits as a whole, though another
/// thread may take the word first. If the inner loop also polls other words for
/// that, the result is false: the outer loop is an update that first waits for
/// room. By other words it may leave both loops, if what the exchange writes
/// does not depend on what was there: that of an update is no lock.
static bool takesWhatItWaitedFor(const LoopView &In) {
  const Loop &L = In.L;
  if (any_of(In.Waiting,
             [&](const ExitLeaf &E) { return isVersionCheck(L, E.Condition); }))
    return false;
  const DataLayout &DL = L.getHeader()->getDataLayout();
  // What I writes says nothing of what was there, and so that it is taken.
  auto WritesFixed = [&](const Instruction &I) {
    auto IsFixed = [&](const Value *V) { return L.isLoopInvariant(V); };
    if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
      return (RMW->getOperation() == AtomicRMWInst::Xchg ||
              RMW->getOperation() == AtomicRMWInst::Or) &&
             IsFixed(RMW->getValOperand());
    const Value *New = cast<AtomicCmpXchgInst>(I).getNewValOperand();
    return IsFixed(New) || (match(New, m_Or(m_Value(), m_Value())) &&
                            any_of(cast<User>(New)->operands(), IsFixed));
  };
  auto IsTaken = [&](const Value *Address, bool ByFixed = false) {
    return any_of(L.blocks(), [&](const BasicBlock *B) {
      return any_of(*B, [&](const Instruction &I) {
        if (auto *Call = dyn_cast<CallBase>(&I)) {
          CallClass Class = classifyCall(*Call);
          return Class.Effect == CallEffect::AsmTry &&
                 cellOf(Class.Address, DL) == cellOf(Address, DL);
        }
        return isa<AtomicCmpXchgInst, AtomicRMWInst>(I) &&
               cellOf(I.getOperand(0), DL) == cellOf(Address, DL) &&
               (!ByFixed || WritesFixed(I));
      });
    });
  };
  // The loop ends by reads of what S polls, and by nothing else.
  auto OnlyTestsAgain = [&](const SpinLoop &S) {
    bool Tests = false;
    for (Instruction *Access : In.Accesses) {
      if (S.L->contains(Access))
        continue;
      Tests = true;
      if (!isa<LoadInst>(Access) || none_of(S.Polls, [&](const Poll &P) {
            return P.Address &&
                   cellOf(P.Address, DL) == cellOf(Access->getOperand(0), DL);
          }))
        return false;
    }
    return Tests;
  };
  return any_of(In.Inner.Loops, [&](const SpinLoop &S) {
    if (S.L == &L || !L.contains(S.L) || S.Bounded || S.Kind == SpinKind::Retry)
      return false;
    if (OnlyTestsAgain(S))
      return true;
    SmallSetVector<Instruction *, 4> Returns = pollsOfReturn(In, *S.L);
    auto Ends = [&](bool MayLeaveBoth) {
      return all_of(S.Polls, [&](const Poll &P) {
        return P.OnlyLocates || (MayLeaveBoth && !Returns.contains(P.Access)) ||
               (P.Address && IsTaken(P.Address, MayLeaveBoth));
      });
    };
    return Ends(/*MayLeaveBoth=*/false) || Ends(/*MayLeaveBoth=*/true);
  });
}

/// Returns true if the assembly compares before it exchanges.
static bool comparesAssembly(const CallBase &Call) {
  auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand());
  return Asm && StringRef(Asm->getAsmString()).contains("cmpxchg");
}

/// Returns V without casts or, if V is a header phi, the values that iterations
/// of L give to it.
static SmallVector<Value *, 2> valuesOf(Value *V, const Loop &L) {
  auto WithoutCasts = [](Value *V) {
    while (isa<CastInst, FreezeInst>(V))
      V = cast<Instruction>(V)->getOperand(0);
    return V;
  };
  V = WithoutCasts(V);
  auto *Phi = dyn_cast<PHINode>(V);
  if (!Phi || Phi->getParent() != L.getHeader())
    return {V};
  SmallVector<Value *, 2> Values;
  for (unsigned I = 0; I != Phi->getNumIncomingValues(); ++I)
    if (L.contains(Phi->getIncomingBlock(I)))
      Values.push_back(WithoutCasts(Phi->getIncomingValue(I)));
  return Values;
}

bool dependsOn(const Value *V, function_ref<bool(const Value *)> IsSource,
               const Loop &L) {
  SmallVector<const Value *, 8> Worklist{V};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Worklist.empty()) {
    V = Worklist.pop_back_val();
    if (IsSource(V))
      return true;
    auto *I = dyn_cast<Instruction>(V);
    if (I && L.contains(I) && !isa<PHINode>(I) && Seen.insert(I).second)
      append_range(Worklist, I->operand_values());
  }
  return false;
}

/// Returns how A compares with B if control goes from From to To;
/// BAD_ICMP_PREDICATE if the branch does not say. Numbers that wrap are
/// compared by the sign of their difference.
static CmpInst::Predicate orderOn(const BasicBlock *From, const BasicBlock *To,
                                  const Value *A, const Value *B) {
  auto *Br = dyn_cast<BranchInst>(From->getTerminator());
  auto *Compare =
      Br && Br->isConditional() && Br->getSuccessor(0) != Br->getSuccessor(1)
          ? dyn_cast<ICmpInst>(Br->getCondition())
          : nullptr;
  if (!Compare)
    return CmpInst::BAD_ICMP_PREDICATE;
  CmpInst::Predicate Is = To == Br->getSuccessor(0)
                              ? CmpInst::Predicate(Compare->getPredicate())
                              : Compare->getInversePredicate();
  const Value *Left = Compare->getOperand(0), *Right = Compare->getOperand(1);
  if (Left == A && Right == B)
    return Is;
  if (Left == B && Right == A)
    return CmpInst::getSwappedPredicate(Is);
  if (!match(Left, m_Sub(m_Specific(A), m_Specific(B))))
    return CmpInst::BAD_ICMP_PREDICATE;
  if (match(Right, m_Zero()))
    return Is;
  if (match(Right, m_AllOnes()) && Is == CmpInst::ICMP_SGT)
    return CmpInst::ICMP_SGE;
  return CmpInst::BAD_ICMP_PREDICATE;
}

/// Returns true if A > B, signed, when control goes from From to To. Earlier
/// branches may have decided a part of that.
static bool isGreaterOn(const LoopView &In, const BasicBlock *From,
                        const BasicBlock *To, const Value *A, const Value *B) {
  bool AtLeast = false, Differs = false;
  auto Note = [&](CmpInst::Predicate Is) {
    AtLeast |= Is == CmpInst::ICMP_SGE || Is == CmpInst::ICMP_SGT;
    Differs |= Is == CmpInst::ICMP_NE || Is == CmpInst::ICMP_SGT;
  };
  Note(orderOn(From, To, A, B));
  for (const BasicBlock *D : In.L.blocks())
    for (const BasicBlock *Next : successors(D))
      if (In.DT.dominates(BasicBlockEdge(D, Next), From))
        Note(orderOn(D, Next, A, B));
  return AtLeast && Differs;
}

/// Returns true if control goes from From to To when other threads have taken
/// the place in a bounded queue that this one was about to take:
///
///   place = next;
///   for (;;) {
///     ahead = cells[place & mask].sequence - place;
///     if (ahead == 0) { if (exchange(&next, &place, place + 1)) break; }
///     else if (ahead < 0) return false;   // Full.
///     else place = next;                  // This edge.
///   }
///
/// Places only grow, and the cell has been passed on with a greater number, so
/// `next` has changed. The other order is no progress: a loop that reads `next`
/// again while `ahead < 0` waits for room.
static bool retriesPassedPlace(const LoopView &In, const BasicBlock *From,
                               const BasicBlock *To,
                               const AtomicCmpXchgInst &Exchange) {
  const Loop &L = In.L;
  if (In.LI.getLoopFor(From) != &L)
    return false;
  const Value *Place = Exchange.getCompareOperand();
  if (cellRead(L, Place) !=
      cellOf(Exchange.getPointerOperand(), L.getHeader()->getDataLayout()))
    return false;
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &Number : *B) {
      auto *Load = dyn_cast<LoadInst>(&Number);
      if (!Load || !dependsOn(
                       Load->getPointerOperand(),
                       [&](const Value *V) { return V == Place; }, L))
        continue;
      // A consumer's cell has the number place + 1, and the optimizer may store
      // that number instead of the sum.
      auto IsNext = [&](const Value *V) {
        const APInt *Step;
        return match(V, m_Add(m_Specific(Place), m_APInt(Step))) &&
               Step->isStrictlyPositive();
      };
      auto Passes = [&](const Value *Mine) {
        const Value *New = Exchange.getNewValOperand();
        return (IsNext(New) || (New == Load && IsNext(Mine))) &&
               isGreaterOn(In, From, To, Load, Mine);
      };
      if (Passes(Place) || any_of(Place->users(), [&](const User *Mine) {
            return IsNext(Mine) && Passes(Mine);
          }))
        return true;
    }
  return false;
}

/// Returns true for a lock-free update: no other thread need do anything for
/// the loop to end.
static bool onlyRetries(LoopView &In, const Facts &F) {
  Loop &L = In.L;
  const DataLayout &DL = L.getHeader()->getDataLayout();
  // Returns true if an exchange at Address that expects V can succeed at once:
  // V is a value that was read at Address, perhaps only once before the loop,
  // or V depends on a value that the loop has read or computed. If V is such a
  // value with some bits cleared or set, the exchange succeeds only after other
  // threads have cleared or set these bits, unless the loop itself gets there
  // by counting.
  auto CanSucceed = [&](Value *V, const Value *Address) {
    if (isReadAt(V, Address, DL))
      return true;
    unsigned Kinds = In.Causes.collect(V).kinds();
    if (Kinds & Own)
      return true;
    if (any_of(valuesOf(V, L), [&](Value *Each) {
          return match(Each, m_CombineOr(m_And(m_Value(), m_ImmConstant()),
                                         m_Or(m_Value(), m_ImmConstant())));
        }))
      return false;
    return (Kinds & Polled) != 0;
  };
  auto MustSucceed = [&](const Instruction &I, bool ExpectsNumber) {
    // A reader that guesses that nobody is inside is turned away by a writer.
    // Only a hint says that it waits for the writer.
    if (ExpectsNumber && F.hints())
      return false;
    if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
      return CanSucceed(const_cast<Value *>(Exchange->getCompareOperand()),
                        Exchange->getPointerOperand());
    // The operand with which the assembly compares the memory is not always
    // known: any operand except the memory operand may be the one.
    auto &Call = cast<CallBase>(I);
    return any_of(Call.args(), [&](const Use &Arg) {
      return Arg != classifyCall(Call).Address &&
             (!Arg->getType()->isPointerTy() || comparesAssembly(Call)) &&
             CanSucceed(Arg, classifyCall(Call).Address);
    });
  };
  SmallVector<const AtomicCmpXchgInst *, 2> Exchanges;
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B)
      if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
        Exchanges.push_back(Exchange);
  return !mayGoOnAlone(
      In, MustSucceed, [&](const BasicBlock *From, const BasicBlock *To) {
        return any_of(Exchanges, [&](const AtomicCmpXchgInst *Exchange) {
          return retriesPassedPlace(In, From, To, *Exchange);
        });
      });
}

void gatherRetries(LoopView &In, Gathered &G) {
  G.Of.OnlyRetries = onlyRetries(In, G.Of);
  if (G.Of.OnlyRetries)
    G.Of.TakesWhatItWaitedFor = takesWhatItWaitedFor(In);
}

} // namespace vfriendly
