//===- SpinKinds.cpp - Kinds of waits -------------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/LoopJudge.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Returns true if the condition compares two reads of one address, perhaps
/// among other conditions.
bool LoopJudge::isVersionCheck(const Value *Condition, unsigned Depth) const {
  // Maximum depth of operands: `!((a & 1) || a != b)` has 3 levels, and one is
  // spare.
  if (Depth > 4)
    return false;
  auto *Cmp = dyn_cast<ICmpInst>(Condition);
  if (!Cmp) {
    auto *I = dyn_cast<Instruction>(Condition);
    return I && L.contains(I) &&
           isa<SelectInst, BinaryOperator, FreezeInst, PHINode>(I) &&
           any_of(I->operands(), [&](const Value *Op) {
             return isVersionCheck(Op, Depth + 1);
           });
  }
  using Read = std::pair<const Instruction *, const Value *>;
  auto ReadOf = [&](const Value *V, unsigned Steps, auto &&Self) -> Read {
    while (isa<CastInst, FreezeInst>(V))
      V = cast<Instruction>(V)->getOperand(0);
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L.contains(I))
      return {};
    if (auto *Load = dyn_cast<LoadInst>(I))
      return {I, Load->getPointerOperand()};
    // Follows phis: one in the header may hold the value that the loop read one
    // or two iterations before, another joins what the iteration read and what
    // an inner loop read again.
    if (auto *Phi = dyn_cast<PHINode>(I); Phi && Steps < 2) {
      const Value *Address = nullptr;
      for (unsigned N = 0; N != Phi->getNumIncomingValues(); ++N) {
        if (!L.contains(Phi->getIncomingBlock(N)))
          continue;
        Read Before = Self(Phi->getIncomingValue(N), Steps + 1, Self);
        if (!Before.second || (Address && Address != Before.second))
          return {};
        Address = Before.second;
      }
      return {Phi, Address};
    }
    auto *Call = dyn_cast<CallBase>(I);
    CallClass Class = Call ? classifyCall(*Call) : CallClass{CallEffect::Other};
    return {I, Class.Effect == CallEffect::AsmLoad ? Class.Address : nullptr};
  };
  Read First = ReadOf(Cmp->getOperand(0), 0, ReadOf),
       Second = ReadOf(Cmp->getOperand(1), 0, ReadOf);
  return First.second && First.second == Second.second &&
         First.first != Second.first;
}

/// Returns true if the loop ends when a version number is unchanged. A loop
/// that ends when the version has changed waits for a writer.
bool LoopJudge::endsUnchanged(const ExitLeaf &Leaf) const {
  auto *Cmp = dyn_cast<ICmpInst>(Leaf.Condition);
  if (Cmp && (!Cmp->isEquality() ||
              (Cmp->getPredicate() == ICmpInst::ICMP_NE) != Leaf.StaysIf))
    return false;
  return isVersionCheck(Leaf.Condition);
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
    return RMW.getOperation() == AtomicRMWInst::Add ||
           RMW.getOperation() == AtomicRMWInst::Sub;
  });
}

static bool exchanges(const Value *V) {
  return performs(V, [](const AtomicRMWInst &RMW) {
    return RMW.getOperation() == AtomicRMWInst::Xchg;
  });
}

/// Returns true if V is the result of a fetch-and-add, or a part of it.
bool LoopJudge::isTicketNumber(const Value *V, unsigned Depth) const {
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

/// Returns true if V depends on nothing that changes in the loop, though it may
/// be computed there.
bool LoopJudge::isInvariant(Value *V) {
  return Collector.collect(V).isNothing();
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

/// Returns true if Address points into a node of a queue lock: the address of
/// the node was exchanged into the queue's tail (MCS), or was the result of
/// that exchange (CLH). Clang exchanges pointers as integers. A local structure
/// also counts as a node, because a function may have queued it. A local number
/// does not, because it cannot hold a link to a successor.
bool LoopJudge::isQueueNode(const Value *Address) {
  const Value *Node = getUnderlyingObject(Address, /*MaxLookup=*/16);
  if (auto *Cast = dyn_cast<IntToPtrInst>(Node))
    return exchanges(Cast->getOperand(0));
  if (exchanges(Node))
    return true;
  if (auto *Local = dyn_cast<AllocaInst>(Node);
      Local && !Local->getAllocatedType()->isSingleValueType())
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

/// Returns true if B, or a block that dominates B, increments or decrements
/// memory.
bool LoopJudge::countsBefore(const BasicBlock &B) {
  SmallVector<const BasicBlock *, 8> Passed;
  bool Found = false;
  for (const DomTreeNode *N = DT.getNode(&B); N; N = N->getIDom()) {
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

SpinKind LoopJudge::nameKind() {
  bool Tries = false, Reads = false, Calls = false;
  for (const Poll &P : Found.Polls) {
    auto *Call = dyn_cast<CallBase>(P.Access);
    if (Call && !P.Address && classifyCall(*Call).Effect != CallEffect::TryLock)
      return SpinKind::Call;
    Calls |= !P.Address;
    Tries |= P.ReadModifyWrite && P.Address;
    Reads |= !P.ReadModifyWrite;
  }
  if (Calls)
    return SpinKind::TryLockCall;
  for (const SpinLoop &S : Inner.Loops)
    Reads |= L.contains(S.L) && S.Kind == SpinKind::Flag;
  if (Tries)
    return Reads ? SpinKind::TestAndTestAndSet : SpinKind::TryLock;
  if (any_of(Waiting, [&](const ExitLeaf &E) { return endsUnchanged(E); }))
    return SpinKind::SeqLock;

  for (const ExitLeaf &Leaf : Waiting) {
    Value *A, *B;
    if (!match(Leaf.Condition, m_ICmp(m_Value(A), m_Value(B))))
      continue;
    if ((isTicketNumber(A) && isInvariant(A)) ||
        (isTicketNumber(B) && isInvariant(B)))
      return SpinKind::Ticket;
  }

  for (const Poll &P : Found.Polls)
    if (!P.OnlyLocates && isQueueNode(P.Address))
      return SpinKind::Queue;

  // The function counts its arrival before the wait, so the loop is a barrier.
  if (const DomTreeNode *Before = DT.getNode(L.getHeader())->getIDom();
      Before && countsBefore(*Before->getBlock()))
    return SpinKind::Barrier;
  return SpinKind::Flag;
}

} // namespace vfriendly
