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
// of a lock. The expected value distinguishes them: an update expects the value
// that it has just read from the word, a wait expects a value that only other
// threads can store.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/WaitNeutral.h"
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

Place placeOf(const Value *Address, const DataLayout &DL) {
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
    return placeOf(Load->getPointerOperand(), DL) == placeOf(Address, DL);
  auto *Call = dyn_cast<CallBase>(V);
  CallClass Class = Call ? classifyCall(*Call) : CallClass{CallEffect::Other};
  return Class.Effect == CallEffect::AsmLoad &&
         placeOf(Class.Address, DL) == placeOf(Address, DL);
}

/// Returns true if an inner loop waits until a word is free and the loop then
/// takes that word: `do { while ((v = lock) & 1); } while (!exchange(&lock, v,
/// v | 1))`. Such a loop waits as a whole, though another thread may take the
/// word first. If the inner loop polls other words too, the result is false:
/// the outer loop is an update that first waits for room.
static bool takesWhatItWaitedFor(const LoopView &In) {
  const Loop &L = In.L;
  if (any_of(In.Waiting,
             [&](const ExitLeaf &E) { return isVersionCheck(L, E.Condition); }))
    return false;
  const DataLayout &DL = L.getHeader()->getDataLayout();
  auto IsTaken = [&](const Value *Address) {
    return any_of(L.blocks(), [&](const BasicBlock *B) {
      return any_of(*B, [&](const Instruction &I) {
        if (auto *Call = dyn_cast<CallBase>(&I)) {
          CallClass Class = classifyCall(*Call);
          return Class.Effect == CallEffect::AsmTry &&
                 placeOf(Class.Address, DL) == placeOf(Address, DL);
        }
        return isa<AtomicCmpXchgInst, AtomicRMWInst>(I) &&
               placeOf(I.getOperand(0), DL) == placeOf(Address, DL);
      });
    });
  };
  return any_of(In.Inner.Loops, [&](const SpinLoop &S) {
    return S.L != &L && L.contains(S.L) && !S.Bounded &&
           S.Kind != SpinKind::Retry && all_of(S.Polls, [&](const Poll &P) {
             return P.OnlyLocates || (P.Address && IsTaken(P.Address));
           });
  });
}

/// Returns true if the assembly compares before it exchanges.
static bool comparesAssembly(const CallBase &Call) {
  auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand());
  return Asm && StringRef(Asm->getAsmString()).contains("cmpxchg");
}

/// Returns the successor of Br that is reached only if what was read at Address
/// is Expected; null if there is none.
static const BasicBlock *ifRead(const Constant *Expected, const Value *Address,
                                const BranchInst &Br, const DataLayout &DL) {
  // A bool is not compared; its lowest bit is the condition.
  if (auto *Bit = dyn_cast<TruncInst>(Br.getCondition())) {
    auto *Number = dyn_cast<ConstantInt>(Expected);
    if (!Number || Number->getValue().ugt(1) || !isReadAt(Bit, Address, DL))
      return nullptr;
    return Br.getSuccessor(Number->isZero() ? 1 : 0);
  }
  auto *Compare = dyn_cast<ICmpInst>(Br.getCondition());
  auto *Number =
      dyn_cast_or_null<Constant>(Compare ? Compare->getOperand(1) : nullptr);
  // Also accepts two null constants of different types: a null pointer may be
  // exchanged as the integer 0.
  if (!Number || !Compare->isEquality() ||
      !(Number == Expected ||
        (Number->isNullValue() && Expected->isNullValue())) ||
      !isReadAt(Compare->getOperand(0), Address, DL))
    return nullptr;
  return Br.getSuccessor(Compare->getPredicate() == ICmpInst::ICMP_EQ ? 0 : 1);
}

/// Returns true if Expected, which an exchange at Address in block At compares
/// with, is a constant that the same iteration has just read there, as in `if
/// (head == NONE && compare_exchange(&head, NONE, 0)) break;`, or has just
/// stored. A try on a lock looks the same, but has another path to the latch
/// while the lock is held.
static bool expectsWhatWasRead(const LoopView &In, const Value *Expected,
                               const Value *Address, const BasicBlock *At) {
  const DataLayout &DL = At->getDataLayout();
  if (!isa<ConstantInt, ConstantPointerNull>(Expected))
    return false;
  for (BasicBlock *D : In.L.blocks()) {
    if (In.LI.getLoopFor(D) != &In.L)
      continue;
    if (D != At && In.DT.dominates(D, At) &&
        any_of(*D, [&](const Instruction &I) {
          auto *RMW = dyn_cast<AtomicRMWInst>(&I);
          return RMW && RMW->getOperation() == AtomicRMWInst::Xchg &&
                 RMW->getValOperand() == Expected &&
                 placeOf(RMW->getPointerOperand(), DL) == placeOf(Address, DL);
        }))
      return true;
    auto *Br = dyn_cast<BranchInst>(D->getTerminator());
    if (!Br || !Br->isConditional())
      continue;
    const BasicBlock *Equal =
        ifRead(cast<Constant>(Expected), Address, *Br, DL);
    if (Equal && In.DT.dominates(BasicBlockEdge(D, Equal), At))
      return true;
  }
  return false;
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

/// Returns true if V is a value that L has read, with some bits cleared, and L
/// ends when one of these bits is set in the value read. `while (!((next =
/// link) & DELETED) && !exchange(&link, next & ~DELETED, n))` does not wait
/// until other threads clear the bit.
static bool isLeftIfCleared(const Loop &L, Value *V) {
  Value *Read;
  const APInt *Kept;
  if (!match(V, m_And(m_Value(Read), m_APInt(Kept))))
    return false;
  // If Read is a header phi, the previous iteration has read the value. The
  // exits of that iteration test the incoming value of the phi, not the phi.
  SmallVector<Value *, 2> Looked = valuesOf(Read, L);
  Looked.push_back(Read);
  SmallVector<BasicBlock *, 4> Leaves;
  L.getExitingBlocks(Leaves);
  return any_of(Leaves, [&](BasicBlock *B) {
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    CmpPredicate Predicate;
    Value *Tested;
    const APInt *Bits;
    if (!Br || !Br->isConditional() ||
        !match(Br->getCondition(),
               m_ICmp(Predicate, m_And(m_Value(Tested), m_APInt(Bits)),
                      m_Zero())) ||
        !CmpInst::isEquality(Predicate) || !is_contained(Looked, Tested) ||
        !(*Bits | *Kept).isAllOnes())
      return false;
    bool SetIsSecond = Predicate == ICmpInst::ICMP_EQ;
    return !L.contains(Br->getSuccessor(SetIsSecond ? 1 : 0));
  });
}

/// Returns true if the inner loop around Exchange is a lock-free retry, and the
/// success of Exchange ends L as well. The inner loop may also end without
/// success, because of the value read. In `while (!exchange(&readers, n, n +
/// 1)) if (n & WRITER) return false;` a reader retries because of other
/// readers; only the outer loop may wait for the writer.
static bool isGivenUpInside(const LoopView &In, const Facts &F,
                            const AtomicCmpXchgInst &Exchange) {
  const Loop *Of = In.LI.getLoopFor(Exchange.getParent());
  return Of != &In.L && F.hints() &&
         any_of(In.Inner.Loops,
                [&](const SpinLoop &S) {
                  return S.L == Of && S.Kind == SpinKind::Retry;
                }) &&
         wayOfSuccess(In.L, Exchange) == Way::Out;
}

/// Returns true if control goes from From to To when a version number, read
/// twice in one iteration, has changed: `if (tail != load(&queue->tail))
/// continue;`. Another thread made progress, so the next iteration can succeed.
static bool retriesChanged(const LoopView &In, const BasicBlock *From,
                           const BasicBlock *To) {
  auto *Br = dyn_cast<BranchInst>(From->getTerminator());
  const Loop *Of = In.LI.getLoopFor(From);
  return Br && Br->isConditional() && (Of == &In.L || !Of->contains(To)) &&
         Br->getSuccessor(0) != Br->getSuccessor(1) &&
         saysChanged(In.L, Br->getCondition(), To == Br->getSuccessor(0));
}

/// Returns true if V is what L has read at Address, by a load or an exchange
/// that failed, or a phi of such values. The header's phi may have any value
/// before the loop.
static bool isReadByLoop(const Value *V, const Value *Address, const Loop &L,
                         unsigned Depth = 0) {
  const DataLayout &DL = L.getHeader()->getDataLayout();
  // Follows the header's phi and one that joins the ways of an iteration; one
  // level is spare.
  if (auto *Phi = dyn_cast<PHINode>(V))
    return Depth < 3 && L.contains(Phi) &&
           all_of(
               Phi->blocks(),
               [&](const BasicBlock *From) {
                 return !L.contains(From) ||
                        isReadByLoop(Phi->getIncomingValueForBlock(From),
                                     Address, L, Depth + 1);
               });
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !L.contains(I))
    return false;
  if (auto *Part = dyn_cast<ExtractValueInst>(I)) {
    auto *Failed = dyn_cast<AtomicCmpXchgInst>(Part->getAggregateOperand());
    return Failed && Part->getIndices()[0] == 0 &&
           placeOf(Failed->getPointerOperand(), DL) == placeOf(Address, DL);
  }
  return isa<LoadInst>(I) && isReadAt(I, Address, DL);
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
  if (!isReadByLoop(Place, Exchange.getPointerOperand(), L))
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

/// Returns true for a lock-free update: every path from header to latch passes
/// a compare-and-exchange that expects a value just read, so it can succeed at
/// once, a comparison of two reads of one version number, or an edge that is
/// taken because another thread has made progress.
static bool onlyRetries(LoopView &In, const Facts &F) {
  Loop &L = In.L;
  SmallPtrSet<BasicBlock *, 4> Retries;
  SmallVector<const AtomicCmpXchgInst *, 2> Exchanges;
  const DataLayout &DL = L.getHeader()->getDataLayout();
  // Returns true if an exchange at Address that expects V can succeed at once:
  // V is a value that was read at Address, perhaps only once before the loop,
  // or V depends on a value that the loop has read or computed. If V is such a
  // value with some bits cleared, the exchange succeeds only after other
  // threads have cleared these bits.
  auto CanSucceed = [&](Value *V, const Value *Address) {
    if (isReadAt(V, Address, DL))
      return true;
    if (any_of(valuesOf(V, L), [&](Value *Each) {
          return match(Each, m_And(m_Value(), m_ImmConstant())) &&
                 !isLeftIfCleared(L, Each);
        }))
      return false;
    return (In.Causes.collect(V).kinds() & (Polled | Own)) != 0;
  };
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B) {
      if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
        if (!isGivenUpInside(In, F, *Exchange) &&
            (CanSucceed(Exchange->getCompareOperand(),
                        Exchange->getPointerOperand()) ||
             expectsWhatWasRead(In, Exchange->getCompareOperand(),
                                Exchange->getPointerOperand(), B))) {
          Retries.insert(B);
          Exchanges.push_back(Exchange);
        }
      } else if (auto *Call = dyn_cast<CallBase>(&I)) {
        // The operand with which the assembly compares the memory is not always
        // known: any operand except the memory operand may be the one.
        auto MayBeExpected = [&](const Use &Arg) {
          unsigned Number = Call->getArgOperandNo(&Arg);
          return !Call->getParamElementType(Number) &&
                 (!Arg->getType()->isPointerTy() || comparesAssembly(*Call));
        };
        CallClass Class = classifyCall(*Call);
        if (Class.Effect == CallEffect::AsmTry &&
            any_of(Call->args(), [&](const Use &Arg) {
              return MayBeExpected(Arg) &&
                     (CanSucceed(Arg, Class.Address) ||
                      (comparesAssembly(*Call) &&
                       expectsWhatWasRead(In, Arg, Class.Address, B)));
            }))
          Retries.insert(B);
      }
    }
  for (const ExitLeaf &Leaf : In.Waiting)
    // Accepts only a condition that is a single comparison: a loop that also
    // tests whether the version number is odd is a wait.
    if (isa<ICmpInst>(Leaf.Condition) && endsUnchanged(L, Leaf))
      for (BasicBlock *B : L.blocks())
        if (auto *Br = dyn_cast<BranchInst>(B->getTerminator()))
          if (Br->isConditional() && Br->getCondition() == Leaf.Condition)
            Retries.insert(B);
  return everyIterationPasses(
      L, Retries, [&](const BasicBlock *From, const BasicBlock *To) {
        return retriesChanged(In, From, To) ||
               any_of(Exchanges, [&](const AtomicCmpXchgInst *Exchange) {
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
