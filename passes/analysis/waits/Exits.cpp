//===- Exits.cpp - Exits of a loop, their causes, and what they poll ------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/TellingNames.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Devices.h"
#include "passes/analysis/waits/LoopView.h"
#include "passes/common/LLVMVersions.h"

#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/PatternMatch.h"

#include <cerrno>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

SmallVector<ExitLeaf, 4> leavesOf(Value *Condition, bool StaysIf) {
  SmallVector<ExitLeaf, 4> Leaves;
  SmallVector<ExitLeaf, 4> Worklist{{Condition, StaysIf}};
  SmallPtrSet<const Value *, 8> Seen; // An operand may have several users.
  while (!Worklist.empty()) {
    auto [V, Stays] = Worklist.pop_back_val();
    Value *A, *B;
    if (match(V, m_Not(m_Value(A)))) {
      Worklist.push_back({A, !Stays});
    } else if (!Seen.insert(V).second) {
      continue;
    } else if (Stays ? match(V, m_LogicalAnd(m_Value(A), m_Value(B)))
                     : match(V, m_LogicalOr(m_Value(A), m_Value(B)))) {
      Worklist.append({{B, Stays}, {A, Stays}});
    } else if (Stays ? match(V, m_Select(m_Value(A), m_Zero(), m_Value(B)))
                     : match(V, m_Select(m_Value(A), m_Value(B), m_One()))) {
      Worklist.append({{B, Stays}, {A, !Stays}}); // !A && B, !A || B
    } else {
      Leaves.push_back({V, Stays});
    }
  }
  return Leaves;
}

/// Splits the condition of an exit into parts that must all hold for the loop
/// to end, as in `if (++i % 64 == 0 && flag)`; the condition may also be a phi
/// of `false` and `flag`. If one part depends on other threads, so does the
/// exit. Such an exit makes the loop Gated: the loop is not rewritten to block,
/// because many iterations may pass between two polls.
static SmallVector<ExitLeaf, 4> needsOf(const ExitLeaf &Leaf) {
  SmallVector<ExitLeaf, 4> Needs;
  SmallVector<ExitLeaf, 4> Worklist{Leaf};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Worklist.empty()) {
    ExitLeaf Next = Worklist.pop_back_val();
    Value *V = Next.Condition;
    bool Stays = Next.StaysIf;
    Value *A, *B;
    if (match(V, m_Not(m_Value(A)))) {
      Worklist.push_back({A, !Stays});
      continue;
    }
    if (!Seen.insert(V).second)
      continue;
    if (Stays ? match(V, m_LogicalOr(m_Value(A), m_Value(B)))
              : match(V, m_LogicalAnd(m_Value(A), m_Value(B)))) {
      Worklist.append({{B, Stays}, {A, Stays}});
      continue;
    }
    // Also accepts a phi that is compared with 0, as for `int done` instead of
    // `bool done`.
    CmpPredicate Is;
    if (match(V, m_ICmp(Is, m_Value(A), m_Zero())) &&
        ICmpInst::isEquality(Is) && isa<PHINode>(A)) {
      Worklist.push_back({A, (Is == ICmpInst::ICMP_NE) == Stays});
      continue;
    }
    // Returns true if the loop continues when the condition has the value In.
    auto Remains = [&](const Value *In) {
      auto *C = dyn_cast<ConstantInt>(In);
      return C ? C->isZero() != Stays : Seen.contains(In);
    };
    Value *Other = nullptr;
    if (auto *Phi = dyn_cast<PHINode>(V))
      for (Value *In : Phi->incoming_values())
        if (!Remains(In))
          Other = Other ? V : In;
    if (Other && Other != V && !isa<Constant>(Other))
      Worklist.push_back({Other, Stays});
    else
      Needs.push_back({V, Stays});
  }
  return Needs;
}

/// Returns true if a condition without causes differs between the first
/// iteration of L and the others: `for (p = next; *p != x && p != first;
/// p = first)`. The loop then ends by itself in the second iteration.
static bool changesOnce(const Value &Condition, const Loop &L) {
  SmallVector<const Value *, 8> Worklist{&Condition};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Worklist.empty()) {
    auto *I = dyn_cast<Instruction>(Worklist.pop_back_val());
    if (!I || !L.contains(I) || !Seen.insert(I).second)
      continue;
    auto *Phi = dyn_cast<PHINode>(I);
    if (Phi && Phi->getParent() == L.getHeader() && !Phi->hasConstantValue())
      return true;
    Worklist.append(I->value_op_begin(), I->value_op_end());
  }
  return false;
}

static bool readsErrno(const Value *V) {
  auto *Load = dyn_cast<LoadInst>(V);
  auto *Call = Load ? dyn_cast<CallBase>(Load->getPointerOperand()) : nullptr;
  return Call && classifyCall(*Call).Effect == CallEffect::Local;
}

/// Returns true if B leaves the loop unless errno is EINTR: `while
/// (sem_trywait(&s) && errno == EINTR);` repeats a call that a signal has
/// interrupted and waits for no other thread.
static bool staysIfInterrupted(const Loop &L, const BasicBlock &B,
                               const ExitLeaf &Leaf) {
  if (auto *Switch = dyn_cast<SwitchInst>(B.getTerminator()))
    return readsErrno(Switch->getCondition()) &&
           !L.contains(Switch->getDefaultDest()) &&
           all_of(Switch->cases(), [&](const auto &Case) {
             return Case.getCaseValue()->equalsInt(EINTR) ||
                    !L.contains(Case.getCaseSuccessor());
           });
  auto *Compare = dyn_cast<ICmpInst>(Leaf.Condition);
  return Compare && Compare->isEquality() &&
         match(Compare->getOperand(1), m_SpecificInt(EINTR)) &&
         readsErrno(Compare->getOperand(0)) &&
         Leaf.StaysIf == (Compare->getPredicate() == ICmpInst::ICMP_EQ);
}

static bool isPlainLoad(const Instruction *I) {
  auto *Load = dyn_cast<LoadInst>(I);
  return Load && Load->isSimple();
}

/// Returns the causes of the conditions under which an exit is reached, such as
/// the read of the lock in `if (!lock && !exchange(&lock, 1)) break;`: those
/// that are tested in Of, the loop or the one inside it that has the exit. An
/// inner loop reaches its end unless others let it leave earlier:
///
///   again: for (i = 0; i < n; ++i) if (!passed[i]) goto again;
static Causes guardsOf(LoopView &In, BasicBlock *Exiting, const Loop &Of) {
  const Loop &L = In.L;
  Causes All;
  for (BasicBlock *B : Of.blocks()) {
    Instruction *End = B->getTerminator();
    if (B == Exiting ||
        !(&Of == &L ? In.LI.getLoopFor(B) == &Of && In.DT.dominates(B, Exiting)
                    : Of.isLoopExiting(B)) ||
        End->getNumSuccessors() < 2 ||
        !all_of(successors(B), [&](BasicBlock *S) { return L.contains(S); }))
      continue;
    Value *Condition = nullptr;
    if (auto *Br = dyn_cast<BranchInst>(End))
      Condition = Br->getCondition();
    else if (auto *Switch = dyn_cast<SwitchInst>(End))
      Condition = Switch->getCondition();
    if (!Condition)
      continue;
    Causes C = In.Causes.collect(Condition);
    // Not a counter that selects the iterations that poll, nor plain memory in
    // which an inner loop may count.
    if (!waitsForOthers(C.kinds()) ||
        (&Of != &L && any_of(C.Polls, isPlainLoad)))
      continue;
    insertRange(All.Polls, C.Polls);
    insertRange(All.Pointers, C.Pointers);
    insertRange(All.Varying, C.Varying);
  }
  return All;
}

/// Returns true if V is the result of a function that tries, by its name, and
/// tells its success by a result that is not null, unlike pthread_mutex_trylock
/// and an exchange that returns the old value.
static bool tellsSuccess(const Value *V) {
  auto *Call = dyn_cast<CallBase>(V);
  return Call && classifyCall(*Call).Effect == CallEffect::Other &&
         promisedEffect(*Call) == CallEffect::TryLock &&
         namesOffer(calledName(*Call));
}

/// Returns true if the loop continues when an exchange succeeds, perhaps under
/// further conditions, or when an attempt does. If iterations give a hint, what
/// an attempt returns may mean anything.
static bool staysOnSuccess(const LoopView &In, const ExitLeaf &Leaf) {
  Value *Tried;
  CmpPredicate Is;
  const bool ByName = !In.Causes.takesCallsAsPolls();
  if (ByName && tellsSuccess(Leaf.Condition))
    return Leaf.StaysIf;
  if (ByName && match(Leaf.Condition, m_ICmp(Is, m_Value(Tried), m_Zero())) &&
      tellsSuccess(Tried)) {
    CmpInst::Predicate Stays = Leaf.StaysIf ? CmpInst::Predicate(Is)
                                            : CmpInst::getInversePredicate(Is);
    return !is_contained({CmpInst::ICMP_EQ, CmpInst::ICMP_SLT,
                          CmpInst::ICMP_SLE, CmpInst::ICMP_ULE},
                         Stays);
  }
  auto *Extract = dyn_cast<ExtractValueInst>(Leaf.Condition);
  return Extract && Leaf.StaysIf && Extract->getIndices()[0] == 1 &&
         isa<AtomicCmpXchgInst>(Extract->getAggregateOperand());
}

/// Returns true if a polled value is compared with a number that a
/// fetch-and-add gave to this thread.
static bool comparesTicket(LoopView &In, const ExitLeaf &Leaf) {
  Value *A, *B;
  if (!match(Leaf.Condition, m_ICmp(m_Value(A), m_Value(B))))
    return false;
  return any_of(ArrayRef<Value *>({A, B}), [&](Value *V) {
    return isTicketNumber(V) && isFixed(In.Causes.collect(V).kinds());
  });
}

/// Describes a condition with the causes C. If only other threads can make it
/// end the loop, notes that it does.
static Condition describe(LoopView &In, const ExitLeaf &Leaf, const Causes &C) {
  Condition Is;
  Is.Causes = C.kinds();
  Is.Bound = boundIn(Leaf.Condition);
  if (!waitsForOthers(Is.Causes))
    return Is;
  Is.StaysOnSuccess = staysOnSuccess(In, Leaf);
  Is.EndsUnchanged = endsUnchanged(In.L, Leaf);
  Is.ComparesTicket = comparesTicket(In, Leaf);
  In.Waiting.push_back(Leaf);
  notePolls(In, C);
  return Is;
}

/// Returns true if Condition ends Inner, a loop inside the one that is judged,
/// when Inner has counted to a limit. Other threads may write the limit, as in
/// `for (i = levels - 1; i >= 0; --i)`, but do not end the outer loop by that.
static bool isInnerBound(LoopView &In, const Loop &Inner, Value *Condition) {
  auto *Compare = dyn_cast<ICmpInst>(Condition);
  if (&Inner == &In.L || !Compare)
    return false;
  CauseCollector Inside(Inner, In.DT, In.Around.Variables);
  if (In.Causes.takesCallsAsPolls())
    Inside.takeCallsAsPolls();
  CauseSet Left = Inside.collect(Compare->getOperand(0)).kinds(),
           Right = Inside.collect(Compare->getOperand(1)).kinds();
  return (Left == Own && !(Right & ByItself)) ||
         (Right == Own && !(Left & ByItself));
}

/// Describes one leaf of the exit at the end of B.
static Leaf describe(LoopView &In, BasicBlock &B, const ExitLeaf &Exit,
                     Causes Guards) {
  Leaf Is;
  Is.RepeatsInterrupted =
      staysIfInterrupted(In.L, B, Exit) && everyIterationPasses(In.L, &B);
  const Loop &Of = *In.LI.getLoopFor(&B);
  Causes C = In.Causes.collect(Exit.Condition);
  if (isFixed(C.kinds()) && changesOnce(*Exit.Condition, In.L))
    C.Others |= Own;
  if (isFixed(C.kinds()) || // `if (polled) if (fixed) break;`
      (waitsForOthers(C.kinds()) && isInnerBound(In, Of, Exit.Condition))) {
    C = &Of == &In.L ? Guards : guardsOf(In, &B, Of);
    if (isFixed(C.kinds()))
      C = Guards;
  }
  if (waitsForOthers(C.kinds()))
    C.Others |= foundByProgress(In, &B);
  Is.Whole = describe(In, Exit, C);
  if (waitsForOthers(Is.Whole.Causes)) {
    // Plain memory beside a marked poll only decides what else is done, unless
    // it is the same word.
    const DataLayout &DL = B.getDataLayout();
    if (!all_of(C.Polls, isPlainLoad))
      Guards.Polls.remove_if([&](const Instruction *Guard) {
        return isPlainLoad(Guard) &&
               none_of(C.Polls, [&](const Instruction *I) {
                 return !isa<CallBase>(I) &&
                        cellOf(I->getOperand(0), DL) ==
                            cellOf(Guard->getOperand(0), DL);
               });
      });
    notePolls(In, Guards);
  } else if (Is.Whole.Causes & (Own | Clock | Rotates)) {
    for (const ExitLeaf &Part : needsOf(Exit))
      if (Part.Condition != Exit.Condition)
        Is.Parts.push_back(
            describe(In, Part, In.Causes.collect(Part.Condition)));
    In.OwnConditions.push_back(Exit.Condition);
  }
  return Is;
}

/// Returns true if what L reads by following links or by counting decides how
/// an iteration goes on, such as a deleted node of a list.
static bool traverses(LoopView &In) {
  return any_of(In.L.blocks(), [&](BasicBlock *B) {
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    return Br && Br->isConditional() &&
           (In.Causes.collect(Br->getCondition()).kinds() & Walks) != 0;
  });
}

void gatherExits(LoopView &In, Gathered &G) {
  SmallVector<BasicBlock *, 4> Exiting;
  In.L.getExitingBlocks(Exiting);
  for (BasicBlock *B : Exiting) {
    SmallVector<ExitLeaf, 4> Leaves;
    if (auto *Br = dyn_cast<BranchInst>(B->getTerminator()))
      Leaves = leavesOf(Br->getCondition(), In.L.contains(Br->getSuccessor(0)));
    else if (auto *Switch = dyn_cast<SwitchInst>(B->getTerminator()))
      Leaves.push_back({Switch->getCondition(), false});
    else
      continue; // An unwind edge does not end a wait.
    Causes Guards = guardsOf(In, B, In.L);
    for (const ExitLeaf &Exit : Leaves)
      G.Of.Exits.push_back(describe(In, *B, Exit, Guards));
  }
  if (!In.Waiting.empty() && traverses(In))
    G.Of.Exits.emplace_back().Whole.Causes = Walks;
}

/// Returns where the branch at the end of B leads, within a few blocks, if
/// Known is Is.
static Way wayFrom(const Loop &L, const BasicBlock &B, const Value &Known,
                   Constant &Is) {
  auto *Br = dyn_cast<BranchInst>(B.getTerminator());
  auto *Switch = dyn_cast<SwitchInst>(B.getTerminator());
  if (!Switch && !(Br && Br->isConditional()))
    return Way::Unclear;
  auto *Decides = dyn_cast_or_null<ConstantInt>(simplifyWithOpReplaced(
      Br ? Br->getCondition() : Switch->getCondition(),
      const_cast<Value *>(&Known), &Is, SimplifyQuery(B.getDataLayout()),
      /*AllowRefinement=*/true));
  if (!Decides)
    return Way::Unclear;
  const BasicBlock *To =
      Br ? Br->getSuccessor(Decides->isOne() ? 0 : 1)
         : Switch->findCaseValue(Decides)->getCaseSuccessor();
  // Follows at most four blocks: the ends of two small functions, one inlined
  // into the other.
  for (unsigned Blocks = 0; To && Blocks != 4; ++Blocks) {
    if (!L.contains(To))
      return Way::Out;
    if (To == L.getHeader())
      return Way::Iteration;
    To = To->getSingleSuccessor();
  }
  return Way::Unclear;
}

Way wayOfSuccess(const Loop &L, const AtomicCmpXchgInst &Exchange) {
  std::optional<Way> Where;
  for (const User *U : Exchange.users()) {
    auto *Success = dyn_cast<ExtractValueInst>(U);
    if (!Success || Success->getIndices()[0] != 1)
      continue;
    SmallVector<const User *, 4> Users(Success->users());
    for (const User *V : Success->users())
      if (match(V, m_Not(m_Value())))
        append_range(Users, V->users());
    for (const User *V : Users)
      if (auto *Br = dyn_cast<BranchInst>(V)) {
        Way There = wayFrom(L, *Br->getParent(), *Success,
                            *ConstantInt::getTrue(Br->getContext()));
        Where = !Where || *Where == There ? There : Way::Unclear;
      }
  }
  return Where.value_or(Way::Unclear);
}

Way wayOfSuccess(const Loop &L, const CallBase &Try) {
  const Function *Callee = Try.getCalledFunction();
  StringRef Name = Callee ? Callee->getName() : "";
  bool ReturnsZero = Name.starts_with("pthread_") || Name.starts_with("sem_") ||
                     Name.starts_with("mtx_");
  if (!ReturnsZero || classifyCall(Try).Effect != CallEffect::TryLock ||
      !Try.getType()->isIntegerTy())
    return Way::Unclear;
  return wayFrom(L, *Try.getParent(), Try, *ConstantInt::get(Try.getType(), 0));
}

void notePolls(LoopView &In, const Causes &C) {
  bool AllPlain = all_of(C.Polls, isPlainLoad);
  for (Instruction *Access : C.Polls)
    if (AllPlain || !isPlainLoad(Access))
      In.Accesses.insert(Access);
  insertRange(In.Pointers, C.Pointers);
  insertRange(In.Varying, C.Varying);
}

static Poll pollBy(Instruction &Access, bool OnlyLocates, bool Varies) {
  Poll P{&Access, nullptr, 0,          AtomicOrdering::NotAtomic,
         false,   false,   OnlyLocates};
  const DataLayout &DL = Access.getDataLayout();
  auto SetAccess = [&](Value *Address, Type *Ty) {
    P.Address = Address;
    TypeSize Size = DL.getTypeStoreSize(Ty);
    P.Size = Size.isScalable() ? 0 : Size.getFixedValue();
  };
  if (auto *Load = dyn_cast<LoadInst>(&Access)) {
    SetAccess(Load->getPointerOperand(), Load->getType());
    P.Ordering = Load->getOrdering();
    P.Volatile = Load->isVolatile();
  } else if (auto *RMW = dyn_cast<AtomicRMWInst>(&Access)) {
    SetAccess(RMW->getPointerOperand(), RMW->getType());
    P.Ordering = RMW->getOrdering();
    P.Volatile = RMW->isVolatile();
    P.ReadModifyWrite = true;
  } else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&Access)) {
    SetAccess(Exchange->getPointerOperand(),
              Exchange->getNewValOperand()->getType());
    P.Ordering = Exchange->getSuccessOrdering();
    P.Volatile = Exchange->isVolatile();
    P.ReadModifyWrite = true;
  } else {
    CallClass Class = classifyCall(cast<CallBase>(Access));
    P.Address = Class.Address;
    P.Volatile = true; // Inline assembly and library calls are opaque.
    P.ReadModifyWrite = Class.Effect != CallEffect::AsmLoad &&
                        Class.Effect != CallEffect::Reads;
  }
  P.Varies = Varies;
  return P;
}

static PollFact describe(const Poll &P, const Loop &L) {
  auto *Call = dyn_cast<CallBase>(P.Access);
  auto *Exchange = dyn_cast<AtomicCmpXchgInst>(P.Access);
  PollFact Is;
  if (!P.Address)
    Is.How = classifyCall(*Call).Effect == CallEffect::TryLock
                 ? PollFact::TryLock
                 : PollFact::Call;
  else if (P.ReadModifyWrite)
    Is.How = PollFact::Try;
  Is.Plain = P.isPlain();
  Is.Device = P.Address && accessesDevice(*P.Access, P.Address);
  Is.OnlyLocates = P.OnlyLocates;
  Is.Varies = P.Varies;
  if (!P.OnlyLocates)
    Is.SuccessGoesOn =
        (Exchange && wayOfSuccess(L, *Exchange) == Way::Iteration) ||
        (Call && wayOfSuccess(L, *Call) == Way::Iteration);
  return Is;
}

void gatherPolls(LoopView &In, Gathered &G) {
  auto Add = [&](Instruction &Access, bool OnlyLocates) {
    G.Polls.push_back(
        pollBy(Access, OnlyLocates, In.Varying.contains(&Access)));
    G.Of.Polls.push_back(describe(G.Polls.back(), In.L));
  };
  for (Instruction *Access : In.Accesses)
    Add(*Access, /*OnlyLocates=*/false);
  for (Instruction *Access : In.Pointers)
    if (!In.Accesses.contains(Access))
      Add(*Access, /*OnlyLocates=*/true);
}

} // namespace vfriendly
