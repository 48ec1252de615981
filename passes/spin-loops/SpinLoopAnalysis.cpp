//===- SpinLoopAnalysis.cpp - Recognition of waiting loops ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each loop, collects its effects, classifies its exits, and distinguishes
// waits from retries.
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/SpinLoopAnalysis.h"

#include "passes/common/LLVMVersions.h"
#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/LoopJudge.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

#include <cerrno>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

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

std::optional<SpinLoop> LoopJudge::judge() {
  Found.L = &L;
  scanEffects();
  if (!leavesNoTrace() && !authorSaysItWaits())
    return std::nullopt;
  if (!judgeExits() || !excuseEffects())
    return std::nullopt;
  // A loop that traverses data while it polls a flag does work.
  if (Walks || doesWork() || succeedsAndGoesOn())
    return std::nullopt;

  bool AnyPlain = false, AllPlain = true, AllDevice = true;
  for (Instruction *Access : Accesses)
    addPoll(*Access, /*OnlyLocates=*/false);
  for (Instruction *Access : Pointers)
    if (!Accesses.contains(Access))
      addPoll(*Access, /*OnlyLocates=*/true);
  for (const Poll &P : Found.Polls) {
    // A loop that reads plain memory at several addresses again and again is a
    // search, unless each iteration gives a spin hint.
    if (P.isPlain() && P.Varies && !Found.hints())
      return std::nullopt;
    AnyPlain |= P.isPlain() && !P.OnlyLocates;
    AllPlain &= P.isPlain() || P.OnlyLocates;
    AllDevice &= P.Address && isDeviceAddress(P.Address);
  }
  // Two kinds of loops that poll plain memory without a spin hint are common in
  // computations, so they do not count as waits: loops that are bounded, and
  // loops with an exit that depends on the progress of an inner loop.
  if (((AllPlain && Found.Bounded) || (AnyPlain && Scans)) && !Found.hints())
    return std::nullopt;

  Found.Kind = AllDevice       ? SpinKind::Device
               : retriesOnly() ? SpinKind::Retry
                               : nameKind();
  // A counted loop that ends early when a call fails does one piece of work in
  // each iteration. A wait in an inner loop does not make the outer loop a
  // wait.
  if (Found.Kind == SpinKind::Call && Found.Bounded && !hintsItself())
    return std::nullopt;
  return Found;
}

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
    } else {
      Leaves.push_back({V, Stays});
    }
  }
  return Leaves;
}

/// Returns the constant that a counter is compared with: 1000 for `i < 1000`.
static uint64_t boundIn(const Value *Condition) {
  auto *Compare = dyn_cast<ICmpInst>(Condition);
  if (!Compare)
    return 0;
  uint64_t Bound = 0;
  for (const Value *Side : Compare->operands())
    if (auto *Number = dyn_cast<ConstantInt>(Side))
      Bound = Number->getValue().abs().getLimitedValue();
  return Bound;
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

/// Classifies each exit: either only other threads can cause it, or the loop
/// can take it by itself. Returns true if there is an exit that only other
/// threads can cause.
bool LoopJudge::judgeExits() {
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  for (BasicBlock *B : Exiting) {
    SmallVector<ExitLeaf, 4> Leaves;
    if (auto *Br = dyn_cast<BranchInst>(B->getTerminator())) {
      Leaves = leavesOf(Br->getCondition(), L.contains(Br->getSuccessor(0)));
    } else if (auto *Switch = dyn_cast<SwitchInst>(B->getTerminator())) {
      Leaves.push_back({Switch->getCondition(), false});
    } else {
      continue; // An unwind edge does not end a wait.
    }
    for (const ExitLeaf &Leaf : Leaves) {
      if (staysIfInterrupted(*B, Leaf) &&
          everyIterationPasses(SmallPtrSet<BasicBlock *, 1>({B})))
        return false;
      Causes C = Collector.collect(Leaf.Condition);
      Causes Guards = guardsOf(B);
      if (C.isNothing() && changesOnce(*Leaf.Condition, L))
        C.Own = true;
      if (C.isNothing()) // `if (polled) if (fixed) break;`
        C = Guards;
      Walks |= C.Walks;
      Scans |= C.Inner;
      if (C.onlyOthers()) {
        Waiting.push_back(Leaf);
        noteCauses(C);
        noteCauses(Guards);
      } else if (C.Own || C.Clock || C.Rotates) {
        for (const ExitLeaf &Need : needsOf(Leaf)) {
          Causes N = Collector.collect(Need.Condition);
          if (Need.Condition != Leaf.Condition && N.onlyOthers()) {
            Waiting.push_back(Need);
            noteCauses(N);
            Found.Gated = true;
          }
        }
        Found.Bounded = true;
        if (C.Own)
          Found.Bound = std::max(Found.Bound, boundIn(Leaf.Condition));
        OwnConditions.push_back(Leaf.Condition);
      }
    }
  }
  return !Waiting.empty();
}

static bool readsErrno(const Value *V) {
  auto *Load = dyn_cast<LoadInst>(V);
  auto *Call = Load ? dyn_cast<CallBase>(Load->getPointerOperand()) : nullptr;
  return Call && classifyCall(*Call).Effect == CallEffect::Local;
}

/// Returns true if B leaves the loop unless errno is EINTR: `while
/// (sem_trywait(&s) && errno == EINTR);` repeats a call that a signal has
/// interrupted and waits for no other thread.
bool LoopJudge::staysIfInterrupted(const BasicBlock &B,
                                   const ExitLeaf &Leaf) const {
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

/// Returns the causes of the conditions under which an exit is reached, such as
/// the read of the lock in `if (!lock && !exchange(&lock, 1)) break;`.
Causes LoopJudge::guardsOf(BasicBlock *Exiting) {
  Causes All;
  for (BasicBlock *B : L.blocks()) {
    Instruction *End = B->getTerminator();
    if (B == Exiting || !DT.dominates(B, Exiting) || LI.getLoopFor(B) != &L ||
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
    Causes C = Collector.collect(Condition);
    if (!C.onlyOthers())
      continue; // Such as a counter that selects the iterations that poll.
    insertRange(All.Polls, C.Polls);
    insertRange(All.Pointers, C.Pointers);
    insertRange(All.Varying, C.Varying);
  }
  return All;
}

bool isPlainLoad(const Instruction *I) {
  auto *Load = dyn_cast<LoadInst>(I);
  return Load && Load->isSimple();
}

/// Adds C's polls to those of the loop. If an atomic or volatile poll is
/// compared with plain memory, such as a barrier's local sense passed by
/// reference, the plain memory is not polled.
void LoopJudge::noteCauses(const Causes &C) {
  bool AllPlain = all_of(C.Polls, isPlainLoad);
  for (Instruction *Access : C.Polls)
    if (AllPlain || !isPlainLoad(Access))
      Accesses.insert(Access);
  insertRange(Pointers, C.Pointers);
  insertRange(Varying, C.Varying);
}

void LoopJudge::addPoll(Instruction &Access, bool OnlyLocates) {
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
  P.Varies = Varying.contains(&Access);
  Found.Polls.push_back(P);
}

SpinLoopInfo findSpinLoops(Function &F, LoopInfo &LI, const DominatorTree &DT,
                           VariableFacts &Variables) {
  SpinLoopInfo Info;
  DenseMap<const BasicBlock *, bool> Counted;
  SmallVector<Loop *, 8> Loops = LI.getLoopsInPreorder();
  for (Loop *L : reverse(Loops))
    if (auto Found = LoopJudge(*L, LI, DT, Info, Variables, Counted).judge())
      Info.Loops.push_back(std::move(*Found));
  return Info;
}

AnalysisKey SpinLoopAnalysis::Key;

SpinLoopInfo SpinLoopAnalysis::run(Function &F, FunctionAnalysisManager &FAM) {
  VariableFacts Variables;
  return findSpinLoops(F, FAM.getResult<LoopAnalysis>(F),
                       FAM.getResult<DominatorTreeAnalysis>(F), Variables);
}

PreservedAnalyses SpinLoopPrinterPass::run(Function &F,
                                           FunctionAnalysisManager &FAM) {
  for (const SpinLoop &S : FAM.getResult<SpinLoopAnalysis>(F).Loops) {
    OS << F.getName() << ": " << S.L->getHeader()->getName() << ": "
       << toString(S.Kind);
    for (auto [Set, Word] :
         {std::pair(S.Bounded, "bounded"), std::pair(S.Pauses, "pauses"),
          std::pair(S.Yields, "yields"), std::pair(S.Sleeps, "sleeps"),
          std::pair(!S.Doubt.empty(), "in doubt")})
      if (Set)
        OS << ", " << Word;
    for (const Poll &P : S.Polls) {
      OS << "; ";
      if (P.Address)
        P.Address->printAsOperand(OS, /*PrintType=*/false);
      else
        OS << "a call";
      OS << " x" << P.Size << ' '
         << (P.Volatile    ? "volatile"
             : P.isPlain() ? "plain"
                           : toIRString(P.Ordering));
      if (P.ReadModifyWrite)
        OS << " try";
    }
    OS << '\n';
  }
  return PreservedAnalyses::all();
}

} // namespace vfriendly
