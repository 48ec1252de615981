//===- SpinLoops.cpp - Waiting loops of a function ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the steps: gather facts about a loop, judge them, and describe
// the wait. Before it, what the rest of the function says about a loop's kind.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/SpinLoops.h"

#include "passes/analysis/common/TellingNames.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Gather.h"
#include "passes/analysis/waits/LoopView.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// For the experiment of test/rigs/corpus/README.md: what each rule is worth.
static cl::opt<std::string> Without(
    "vf-spin-without", cl::Hidden,
    cl::desc("Switch off this rule of passes/analysis/waits/Judge.cpp"));

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

using RMWTest = function_ref<bool(const AtomicRMWInst &)>;

static bool contains(const Function &F, RMWTest Is, unsigned Depth) {
  // Maximum number of instructions of a function that wraps an atomicrmw, and
  // maximum depth of calls. The largest wrapper in libstdc++ has about 60
  // instructions, because it has a case for each memory order; operator++ calls
  // fetch_add, which calls fetch_add of its base class: 3 levels.
  if (F.isDeclaration() || !hasNItemsOrLess(instructions(F), 60) || Depth > 3)
    return false;
  for (const BasicBlock &B : F)
    for (const Instruction &I : B) {
      if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
        if (Is(*RMW))
          return true;
      if (auto *Call = dyn_cast<CallBase>(&I))
        if (const Function *Callee = Call->getCalledFunction())
          if (contains(*Callee, Is, Depth + 1))
            return true;
    }
  return false;
}

/// Returns true if V is a read-modify-write for which Is holds, or a call of a
/// small function that contains one.
static bool performs(const Value *V, RMWTest Is) {
  if (auto *RMW = dyn_cast<AtomicRMWInst>(V))
    return Is(*RMW);
  auto *Call = dyn_cast<CallBase>(V);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return Callee && contains(*Callee, Is, 0);
}

static bool counts(const Value *V) {
  if (auto *Call = dyn_cast<CallBase>(V))
    if (auto *Asm = dyn_cast<InlineAsm>(Call->getCalledOperand()))
      return StringRef(Asm->getAsmString()).contains("xadd");
  return performs(V, [](const AtomicRMWInst &RMW) {
    return (RMW.getOperation() == AtomicRMWInst::Add ||
            RMW.getOperation() == AtomicRMWInst::Sub) &&
           !match(RMW.getValOperand(), m_Zero()); // fetch_add(x, 0) is a read.
  });
}

static bool exchanges(const Value *V) {
  return performs(V, [](const AtomicRMWInst &RMW) {
    return RMW.getOperation() == AtomicRMWInst::Xchg;
  });
}

bool isTicketNumber(const Value *V, unsigned Depth) {
  // Maximum depth of operands: a ticket is at most masked, shifted and
  // narrowed.
  if (Depth > 6)
    return false;
  auto *I = dyn_cast<Instruction>(V);
  if (!I)
    return false;
  if (counts(I))
    return true;
  return isa<CastInst, BinaryOperator, ExtractValueInst, FreezeInst>(I) &&
         any_of(I->operands(),
                [&](const Value *Op) { return isTicketNumber(Op, Depth + 1); });
}

/// Returns true if an atomic exchange stores the value V, which may be a
/// pointer converted to an integer before.
static bool isExchanged(const Value &V) {
  auto IsStored = [](const Use &U) {
    return U.getOperandNo() != 0 && exchanges(U.getUser());
  };
  return any_of(V.uses(), [&](const Use &U) {
    return IsStored(U) || (isa<PtrToIntInst>(U.getUser()) &&
                           any_of(U.getUser()->uses(), IsStored));
  });
}

/// Counts the numbers and pointers of a variable of type Ty in Members, and
/// returns true if one of them can hold a link: a number as wide as a pointer
/// can.
static bool holdsLink(const Type &Ty, unsigned &Members) {
  if (auto *Array = dyn_cast<ArrayType>(&Ty))
    return holdsLink(*Array->getElementType(), Members);
  auto *Structure = dyn_cast<StructType>(&Ty);
  if (!Structure)
    return ++Members, Ty.isPointerTy() || Ty.isIntegerTy(64);
  bool Found = false;
  for (const Type *Element : Structure->elements())
    Found |= holdsLink(*Element, Members);
  return Found;
}

/// Returns true if a local variable of type Ty can be a node: it has a link to
/// another node and the word to poll.
static bool canBeNode(const Type &Ty) {
  unsigned Members = 0;
  return holdsLink(Ty, Members) && Members > 1;
}

/// Returns true if Address points into a node of a queue lock: the address of
/// the node was exchanged into the queue's tail (MCS), or was the result of
/// that exchange (CLH). Clang exchanges pointers as integers. A local structure
/// that can be a node also counts, because a function may have queued it.
static bool isQueueNode(const Value *Address, VariableFacts &Variables) {
  const Value *Node = getUnderlyingObject(Address, /*MaxLookup=*/16);
  if (auto *Cast = dyn_cast<IntToPtrInst>(Node))
    return exchanges(Cast->getOperand(0));
  if (exchanges(Node))
    return true;
  if (auto *Local = dyn_cast<AllocaInst>(Node);
      Local && canBeNode(*Local->getAllocatedType()))
    return true;
  if (auto *Variable = dyn_cast<GlobalVariable>(Node)) {
    auto [It, New] = Variables.Exchanged.try_emplace(Variable, false);
    if (New)
      It->second = isExchanged(*Variable);
    return It->second;
  }
  // Excludes other constants, such as null and functions: for some constants
  // LLVM has no list of uses, and for others the list includes uses in other
  // modules.
  return !isa<Constant>(Node) && isExchanged(*Node);
}

static bool countsBefore(const LoopView &In) {
  auto &Counted = In.Around.Counted;
  SmallVector<const BasicBlock *, 8> Passed;
  bool Found = false;
  for (const DomTreeNode *N = In.DT.getNode(In.L.getHeader())->getIDom(); N;
       N = N->getIDom()) {
    const BasicBlock *Block = N->getBlock();
    if (auto Known = Counted.find(Block); Known != Counted.end()) {
      Found = Known->second;
      break;
    }
    Passed.push_back(Block);
    if (any_of(*Block, [](const Instruction &I) { return counts(&I); })) {
      Found = true;
      break;
    }
  }
  for (const BasicBlock *Block : Passed)
    Counted[Block] = Found;
  return Found;
}

void gatherSurroundings(LoopView &In, Gathered &G) {
  for (auto [P, Is] : zip_equal(G.Polls, G.Of.Polls))
    Is.InQueueNode = P.Address && !P.OnlyLocates &&
                     isQueueNode(P.Address, In.Around.Variables);
  G.Of.PollsInside = any_of(In.Inner.Loops, [&](const SpinLoop &S) {
    return In.L.contains(S.L) && S.Kind == SpinKind::Flag;
  });
  G.Of.CountsBefore = countsBefore(In);
  G.Of.HintsItself = hintsItself(In);
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

/// Returns true if each iteration sleeps, or gives another hint, and no name
/// but that of a library's sleep suggests that it gives a device time.
static bool sleepsForThread(const LoopView &In, const Facts &Of) {
  if (Of.Rhythm != HintRhythm::Hints || !Of.Sleeps)
    return false;
  for (const BasicBlock *B : In.L.blocks())
    for (const Instruction &I : *B)
      if (auto *Call = dyn_cast<CallBase>(&I);
          Call && !isHint(classifyCall(*Call).Effect) &&
          namesDevice(calledName(*Call)))
        return false;
  return true;
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
  G.FindsWork = !In.Finds.empty();
  if (IsRejected(Stage::Effects))
    return G;
  // The author says that the loop waits. So a function with unknown effects may
  // be what it polls by.
  if (G.Of.Rhythm == HintRhythm::Pauses || sleepsForThread(In, G.Of))
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

SpinLoopInfo findSpinLoops(ArrayRef<Loop *> Among, LoopInfo &LI,
                           const DominatorTree &DT, VariableFacts &Variables) {
  Surroundings Around(LI, DT, Variables);
  for (Loop *L : reverse(Among)) {
    Gathered G = gather(*L, Around);
    Verdict V = judge(G.Of, Without);
    if (!V.Waits)
      continue;
    SpinLoop S;
    static_cast<Verdict &>(S) = std::move(V);
    S.L = L;
    S.Polls = std::move(G.Polls);
    S.Pauses = G.Of.Pauses;
    S.Yields = G.Of.Yields;
    S.Sleeps = G.Of.Sleeps;
    S.AlwaysHints =
        G.Of.Rhythm == HintRhythm::Pauses && G.Of.HintsItself && !G.FindsWork;
    S.Locks = any_of(G.Of.Effects, [](const Effect &E) {
      return E.Leaves == Effect::Releases;
    });
    S.Summarized = std::move(G.Summarized);
    Around.Inner.Loops.push_back(std::move(S));
  }
  return std::move(Around.Inner);
}

} // namespace vfriendly
