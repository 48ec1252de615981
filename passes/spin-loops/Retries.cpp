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

#include "passes/common/LLVMVersions.h"
#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/LoopJudge.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

using Place = std::pair<const Value *, int64_t>;

/// Returns the object that Address points into, and the offset there.
static Place placeOf(const Value *Address, const DataLayout &DL) {
  APInt Offset(DL.getIndexTypeSizeInBits(Address->getType()), 0);
  const Value *Base = Address->stripAndAccumulateConstantOffsets(
      DL, Offset, /*AllowNonInbounds=*/true);
  return {Base, Offset.getSExtValue()};
}

/// Returns true if V is a value read at Address, in the loop or before it.
static bool isReadAt(const Value *V, const Value *Address,
                     const DataLayout &DL) {
  while (isa<CastInst, FreezeInst>(V))
    V = cast<Instruction>(V)->getOperand(0);
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
bool LoopJudge::takesWhatItWaitedFor() const {
  if (any_of(Waiting,
             [&](const ExitLeaf &E) { return isVersionCheck(E.Condition); }))
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
  return any_of(Inner.Loops, [&](const SpinLoop &S) {
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

/// Returns true if Expected, which an exchange at Address in block At compares
/// with, is a constant that the same iteration has just read there, as in `if
/// (head == NONE && compare_exchange(&head, NONE, 0)) break;`. A try on a lock
/// looks the same, but has another path to the latch while the lock is held.
bool LoopJudge::expectsWhatWasRead(const Value *Expected, const Value *Address,
                                   const BasicBlock *At) const {
  const DataLayout &DL = At->getDataLayout();
  if (!isa<ConstantInt, ConstantPointerNull>(Expected))
    return false;
  for (BasicBlock *D : L.blocks()) {
    auto *Br = dyn_cast<BranchInst>(D->getTerminator());
    if (!Br || !Br->isConditional() || LI.getLoopFor(D) != &L)
      continue;
    auto *Compare = dyn_cast<ICmpInst>(Br->getCondition());
    auto *Number =
        dyn_cast_or_null<Constant>(Compare ? Compare->getOperand(1) : nullptr);
    // Also accepts two null constants of different types: a null pointer may be
    // exchanged as the integer 0.
    if (!Number || !Compare->isEquality() ||
        !(Number == Expected ||
          (Number->isNullValue() && cast<Constant>(Expected)->isNullValue())) ||
        !isReadAt(Compare->getOperand(0), Address, DL))
      continue;
    bool IfTrue = Compare->getPredicate() == ICmpInst::ICMP_EQ;
    if (DT.dominates(BasicBlockEdge(D, Br->getSuccessor(IfTrue ? 0 : 1)), At))
      return true;
  }
  return false;
}

/// Returns true if V is a value that L has read, with some bits cleared, and L
/// ends when one of these bits is set in the value read. `while (!((next =
/// link) & DELETED) && !exchange(&link, next & ~DELETED, n))` does not wait
/// until other threads clear the bit.
bool LoopJudge::isLeftIfCleared(Value *V) const {
  Value *Read;
  const APInt *Kept;
  if (!match(V, m_And(m_Value(Read), m_APInt(Kept))))
    return false;
  // If Read is a header phi, the previous iteration has read the value. The
  // exits of that iteration test the incoming value of the phi, not the phi.
  SmallVector<Value *, 2> Looked = {Read};
  if (auto *Phi = dyn_cast<PHINode>(Read);
      Phi && Phi->getParent() == L.getHeader())
    for (unsigned I = 0; I != Phi->getNumIncomingValues(); ++I)
      if (L.contains(Phi->getIncomingBlock(I)))
        Looked.push_back(Phi->getIncomingValue(I));
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

using KnownValues = SmallDenseMap<const Value *, Constant *, 8>;

/// Returns the constant to which V evaluates, given the values in Known; null
/// if V is not constant.
static Constant *valueOn(const KnownValues &Known, Value *V,
                         const DataLayout &DL, unsigned Depth = 0) {
  if (auto *C = dyn_cast<Constant>(V))
    return C;
  if (Constant *C = Known.lookup(V))
    return C;
  // Follows operands two levels deep: the result of a small function is
  // compared, and the comparison may be negated.
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !isa<ICmpInst, BinaryOperator>(I) || Depth == 2)
    return nullptr;
  Constant *Left = valueOn(Known, I->getOperand(0), DL, Depth + 1),
           *Right = valueOn(Known, I->getOperand(1), DL, Depth + 1);
  return Left && Right ? ConstantFoldInstOperands(I, {Left, Right}, DL)
                       : nullptr;
}

/// Records the values that the phis of B have when control comes from From, and
/// the value of the condition on which From branches.
static void enter(KnownValues &Known, BasicBlock *From, BasicBlock *B) {
  for (PHINode &Phi : B->phis())
    Known[&Phi] = dyn_cast<Constant>(Phi.getIncomingValueForBlock(From));
  auto *Br = dyn_cast<BranchInst>(From->getTerminator());
  if (Br && Br->isConditional() && Br->getSuccessor(0) != Br->getSuccessor(1))
    Known[Br->getCondition()] =
        ConstantInt::getBool(B->getContext(), B == Br->getSuccessor(0));
}

/// Returns the successor of B on a path with the values in Known; null if these
/// values do not determine the successor.
static BasicBlock *nextOn(const KnownValues &Known, BasicBlock *B) {
  if (BasicBlock *Only = B->getSingleSuccessor())
    return Only;
  auto *Br = dyn_cast<BranchInst>(B->getTerminator());
  auto *Switch = dyn_cast<SwitchInst>(B->getTerminator());
  if (!Br && !Switch)
    return nullptr;
  auto *Decides = dyn_cast_or_null<ConstantInt>(
      valueOn(Known, Br ? Br->getCondition() : Switch->getCondition(),
              B->getDataLayout()));
  if (!Decides)
    return nullptr;
  return Br ? Br->getSuccessor(Decides->isOne() ? 0 : 1)
            : Switch->findCaseValue(Decides)->getCaseSuccessor();
}

/// Ignores infeasible paths: several exits of an inlined function often share
/// one block, from which a number selects the successor.
bool LoopJudge::everyIterationPasses(
    const SmallPtrSetImpl<BasicBlock *> &Blocks, EdgeTest Ends) const {
  using Edge = std::pair<BasicBlock *, BasicBlock *>;
  SmallVector<Edge, 8> Worklist{{nullptr, L.getHeader()}};
  SmallDenseSet<Edge, 8> Seen;
  while (!Worklist.empty()) {
    auto [From, B] = Worklist.pop_back_val();
    if (Blocks.contains(B) || !Seen.insert({From, B}).second)
      continue;
    KnownValues Known;
    if (From)
      enter(Known, From, B);
    BasicBlock *Decided = nextOn(Known, B);
    for (BasicBlock *Next : successors(B)) {
      if ((Decided && Next != Decided) || (Ends && Ends(B, Next)))
        continue;
      if (Next == L.getHeader())
        return false;
      if (L.contains(Next))
        Worklist.push_back({B, Next});
    }
  }
  return true;
}

namespace {
enum class Way { Unclear, Out, Iteration };
} // namespace

/// Returns where the path that begins with the edge from From to To leads
/// within a few blocks: out of L, or to L's next iteration.
static Way follow(const Loop &L, BasicBlock *From, BasicBlock *To,
                  KnownValues Known) {
  // Follows at most four blocks: the ends of two small functions, one inlined
  // into the other.
  for (unsigned Blocks = 0; Blocks != 4; ++Blocks) {
    if (!L.contains(To))
      return Way::Out;
    if (To == L.getHeader())
      return Way::Iteration;
    enter(Known, From, To);
    BasicBlock *Next = nextOn(Known, To);
    if (!Next)
      return Way::Unclear;
    From = std::exchange(To, Next);
  }
  return Way::Unclear;
}

/// Returns where L continues when the exchange succeeds.
static Way wayOfSuccess(const Loop &L, const AtomicCmpXchgInst &Exchange) {
  std::optional<Way> Where;
  auto Follow = [&](const Value *Flag, bool IfSuccess) {
    Constant *Known = ConstantInt::getBool(Flag->getContext(), IfSuccess);
    for (const User *U : Flag->users())
      if (auto *Br = const_cast<BranchInst *>(dyn_cast<BranchInst>(U))) {
        Way There =
            follow(L, Br->getParent(), Br->getSuccessor(IfSuccess ? 0 : 1),
                   {{Flag, Known}});
        Where = !Where || *Where == There ? There : Way::Unclear;
      }
  };
  for (const User *U : Exchange.users()) {
    auto *Success = dyn_cast<ExtractValueInst>(U);
    if (!Success || Success->getIndices()[0] != 1)
      continue;
    Follow(Success, true);
    for (const User *V : Success->users())
      if (match(V, m_Not(m_Value())))
        Follow(V, false);
  }
  return Where.value_or(Way::Unclear);
}

/// Returns where L continues when Try takes the lock or decrements the
/// semaphore; Unclear unless Try returns 0 then, as the functions of POSIX and
/// C do.
static Way wayOfSuccess(const Loop &L, const CallBase &Try) {
  const Function *Callee = Try.getCalledFunction();
  StringRef Name = Callee ? Callee->getName() : "";
  bool ReturnsZero = Name.starts_with("pthread_") || Name.starts_with("sem_") ||
                     Name.starts_with("mtx_");
  if (!ReturnsZero || classifyCall(Try).Effect != CallEffect::TryLock ||
      !Try.getType()->isIntegerTy())
    return Way::Unclear;
  KnownValues Known{{&Try, ConstantInt::get(Try.getType(), 0)}};
  auto *B = const_cast<BasicBlock *>(Try.getParent());
  BasicBlock *Next = nextOn(Known, B);
  return Next ? follow(L, B, Next, Known) : Way::Unclear;
}

/// Returns true if an exchange or a try on a lock that succeeds is followed by
/// another iteration: the loop does work, or takes all units of a semaphore.
bool LoopJudge::succeedsAndGoesOn() const {
  // Returns true if the loop continues when the exchange succeeds, perhaps
  // under further conditions.
  auto StaysOnSuccess = [](const ExitLeaf &Leaf) {
    auto *Extract = dyn_cast<ExtractValueInst>(Leaf.Condition);
    return Extract && Leaf.StaysIf && Extract->getIndices()[0] == 1 &&
           isa<AtomicCmpXchgInst>(Extract->getAggregateOperand());
  };
  return any_of(Waiting, StaysOnSuccess) ||
         any_of(Accesses, [&](const Instruction *Access) {
           auto *Exchange = dyn_cast<AtomicCmpXchgInst>(Access);
           auto *Call = dyn_cast<CallBase>(Access);
           return (Exchange && wayOfSuccess(L, *Exchange) == Way::Iteration) ||
                  (Call && wayOfSuccess(L, *Call) == Way::Iteration);
         });
}

/// Returns true if the inner loop around Exchange is a lock-free retry, and the
/// success of Exchange ends L as well. The inner loop may also end without
/// success, because of the value read. In `while (!exchange(&readers, n, n +
/// 1)) if (n & WRITER) return false;` a reader retries because of other
/// readers; only the outer loop may wait for the writer.
bool LoopJudge::isGivenUpInside(const AtomicCmpXchgInst &Exchange) const {
  const Loop *Of = LI.getLoopFor(Exchange.getParent());
  return Of != &L && Found.hints() &&
         any_of(Inner.Loops,
                [&](const SpinLoop &S) {
                  return S.L == Of && S.Kind == SpinKind::Retry;
                }) &&
         wayOfSuccess(L, Exchange) == Way::Out;
}

/// Returns true if control goes from From to To when a version number, read
/// twice in one iteration, has changed: `if (tail != load(&queue->tail))
/// continue;`. Another thread made progress, so the next iteration can succeed.
bool LoopJudge::retriesChanged(const BasicBlock *From,
                               const BasicBlock *To) const {
  auto *Br = dyn_cast<BranchInst>(From->getTerminator());
  auto *Compare = Br && Br->isConditional()
                      ? dyn_cast<ICmpInst>(Br->getCondition())
                      : nullptr;
  if (!Compare || !Compare->isEquality() || LI.getLoopFor(From) != &L)
    return false;
  bool ChangedIsFirst = Compare->getPredicate() == ICmpInst::ICMP_NE;
  return To == Br->getSuccessor(ChangedIsFirst ? 0 : 1) &&
         To != Br->getSuccessor(ChangedIsFirst ? 1 : 0) &&
         isVersionCheck(Compare);
}

/// Returns true for a lock-free update: every path from header to latch passes
/// a compare-and-exchange that expects a value just read, so it can succeed at
/// once, or a comparison of two reads of one version number.
bool LoopJudge::retriesOnly() {
  if (takesWhatItWaitedFor())
    return false;

  SmallPtrSet<BasicBlock *, 4> Retries;
  const DataLayout &DL = L.getHeader()->getDataLayout();
  // Returns true if an exchange at Address that expects V can succeed at once:
  // V is a value that was read at Address, perhaps only once before the loop,
  // or V depends on a value that the loop has read or computed. If V is such a
  // value with some bits cleared, the exchange succeeds only after other
  // threads have cleared these bits.
  auto CanSucceed = [&](Value *V, const Value *Address) {
    if (isReadAt(V, Address, DL))
      return true;
    while (isa<CastInst, FreezeInst>(V))
      V = cast<Instruction>(V)->getOperand(0);
    if (match(V, m_And(m_Value(), m_ImmConstant())) && !isLeftIfCleared(V))
      return false;
    Causes C = Collector.collect(V);
    return !C.Polls.empty() || C.Own;
  };
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B) {
      if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
        if (!isGivenUpInside(*Exchange) &&
            (CanSucceed(Exchange->getCompareOperand(),
                        Exchange->getPointerOperand()) ||
             expectsWhatWasRead(Exchange->getCompareOperand(),
                                Exchange->getPointerOperand(), B)))
          Retries.insert(B);
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
                       expectsWhatWasRead(Arg, Class.Address, B)));
            }))
          Retries.insert(B);
      }
    }
  for (const ExitLeaf &Leaf : Waiting)
    // Accepts only a condition that is a single comparison: a loop that also
    // tests whether the version number is odd is a wait.
    if (isa<ICmpInst>(Leaf.Condition) && endsUnchanged(Leaf))
      for (BasicBlock *B : L.blocks())
        if (auto *Br = dyn_cast<BranchInst>(B->getTerminator()))
          if (Br->isConditional() && Br->getCondition() == Leaf.Condition)
            Retries.insert(B);
  return everyIterationPasses(
      Retries, [&](const BasicBlock *From, const BasicBlock *To) {
        return retriesChanged(From, To);
      });
}

} // namespace vfriendly
