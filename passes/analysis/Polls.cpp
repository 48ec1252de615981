//===- Polls.cpp - What a loop polls --------------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LoopView.h"
#include "passes/common/LLVMVersions.h"
#include "passes/common/WaitNeutral.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

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

/// Returns the constant to which V evaluates if Known is Is; null if V is not
/// constant then.
static Constant *valueIf(const Value &Known, Constant &Is, Value *V,
                         const DataLayout &DL, unsigned Depth = 0) {
  if (V == &Known)
    return &Is;
  if (auto *C = dyn_cast<Constant>(V))
    return C;
  // Follows operands two levels deep: a result is compared, and the comparison
  // may be negated.
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !isa<ICmpInst, BinaryOperator>(I) || Depth == 2)
    return nullptr;
  Constant *Left = valueIf(Known, Is, I->getOperand(0), DL, Depth + 1),
           *Right = valueIf(Known, Is, I->getOperand(1), DL, Depth + 1);
  return Left && Right ? ConstantFoldInstOperands(I, {Left, Right}, DL)
                       : nullptr;
}

/// Returns where the branch at the end of B leads, within a few blocks, if
/// Known is Is.
static Way wayFrom(const Loop &L, const BasicBlock &B, const Value &Known,
                   Constant &Is) {
  auto *Br = dyn_cast<BranchInst>(B.getTerminator());
  auto *Switch = dyn_cast<SwitchInst>(B.getTerminator());
  if (!Switch && !(Br && Br->isConditional()))
    return Way::Unclear;
  auto *Decides = dyn_cast_or_null<ConstantInt>(
      valueIf(Known, Is, Br ? Br->getCondition() : Switch->getCondition(),
              B.getDataLayout()));
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

static bool isPlainLoad(const Instruction *I) {
  auto *Load = dyn_cast<LoadInst>(I);
  return Load && Load->isSimple();
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
  Is.Device = P.Address && isDeviceAddress(P.Address);
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

} // namespace vfriendly
