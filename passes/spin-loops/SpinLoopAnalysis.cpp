//===- SpinLoopAnalysis.cpp - Which loops wait, and for what --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For one loop: scan its effects, judge its exits, then name its kind.
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/SpinLoopAnalysis.h"

#include "passes/common/WaitNeutral.h"
#include "passes/spin-loops/ExitCauses.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

StringRef toString(SpinKind Kind) {
  switch (Kind) {
  case SpinKind::Flag:
    return "flag poll";
  case SpinKind::TryLock:
    return "try-lock";
  case SpinKind::TestAndTestAndSet:
    return "test-and-test-and-set";
  case SpinKind::Ticket:
    return "ticket lock";
  case SpinKind::Queue:
    return "queue lock";
  case SpinKind::Barrier:
    return "barrier";
  case SpinKind::SeqLock:
    return "seqlock reader";
  case SpinKind::TryLockCall:
    return "trylock calls";
  case SpinKind::Retry:
    return "lock-free retry";
  case SpinKind::Device:
    return "device register";
  }
  llvm_unreachable("all kinds named above");
}

const Poll *SpinLoop::uniquePoll() const {
  const Poll *Unique = nullptr;
  for (const Poll &P : Polls) {
    if (P.OnlyLocates)
      continue;
    if (!P.Address)
      return nullptr;
    if (!Unique || (P.Address == Unique->Address && Unique->ReadModifyWrite)) {
      Unique = &P; // Reads before tries: a read tells what to wait for.
      continue;
    }
    if (P.Address != Unique->Address)
      return nullptr;
  }
  return Unique;
}

namespace {

/// An exit, seen as a condition and the value of it that stays in the loop.
struct ExitLeaf {
  Value *Condition;
  bool StaysIf;
};

/// Judges one loop.
class LoopJudge {
public:
  LoopJudge(Loop &L, LoopInfo &LI, const DominatorTree &DT,
            const SpinLoopInfo &Inner)
      : L(L), LI(LI), DT(DT), Inner(Inner), Collector(L, DT) {}

  std::optional<SpinLoop> judge();

private:
  bool scanEffects();
  bool isIdempotent(const AtomicRMWInst &RMW) const;
  void collectLeaves(Value *Condition, bool StaysIf,
                     SmallVectorImpl<ExitLeaf> &Leaves) const;
  bool judgeExits();
  bool tryStaysOnSuccess(const ExitLeaf &Leaf) const;
  bool retriesOnly();
  bool isVersionCheck(const Value *Condition, unsigned Depth = 0) const;
  void addGuards(BasicBlock *Exiting);
  void noteCauses(const Causes &C);
  void addPoll(Instruction &Access, bool OnlyLocates);
  bool isTicketNumber(const Value *V, unsigned Depth = 0) const;
  bool isInvariant(Value *V);
  SpinKind nameKind();

  Loop &L;
  LoopInfo &LI;
  const DominatorTree &DT;
  const SpinLoopInfo &Inner;
  CauseCollector Collector;

  SpinLoop Found;
  SmallSetVector<Instruction *, 4> Accesses, Pointers;
  SmallVector<ExitLeaf, 4> Waiting;
  bool Walks = false;
};

std::optional<SpinLoop> LoopJudge::judge() {
  Found.L = &L;
  if (!scanEffects() || !judgeExits())
    return std::nullopt;
  // Data gone through while a flag is watched is work.
  if (Walks)
    return std::nullopt;

  bool AnyPlain = false, AllDevice = true;
  for (Instruction *Access : Accesses)
    addPoll(*Access, /*OnlyLocates=*/false);
  for (Instruction *Access : Pointers)
    if (!Accesses.contains(Access))
      addPoll(*Access, /*OnlyLocates=*/true);
  for (const Poll &P : Found.Polls) {
    AnyPlain |= P.isPlain();
    AllDevice &= P.Address && isDeviceAddress(P.Address);
  }
  // A counted loop over plain memory is everyday code, unless its author says
  // that it waits.
  if (AnyPlain && Found.Bounded && !Found.Pauses && !Found.Yields &&
      !Found.Sleeps)
    return std::nullopt;

  Found.Kind = AllDevice       ? SpinKind::Device
               : retriesOnly() ? SpinKind::Retry
                               : nameKind();
  return Found;
}

/// True if nothing the loop does could be missed outside of it.
bool LoopJudge::scanEffects() {
  for (BasicBlock *B : L.blocks()) {
    for (Instruction &I : *B) {
      if (auto *Memory = dyn_cast<MemIntrinsic>(&I)) {
        if (mayBeShared(Memory->getDest()))
          return false;
        continue;
      }
      if (auto *Call = dyn_cast<CallBase>(&I)) {
        switch (classifyCall(*Call).Effect) {
        case CallEffect::Other:
          return false;
        case CallEffect::Pause:
          Found.Pauses = true;
          break;
        case CallEffect::Yield:
          Found.Yields = true;
          break;
        case CallEffect::Sleep:
          Found.Sleeps = true;
          break;
        default:
          break;
        }
        continue;
      }
      if (auto *Store = dyn_cast<StoreInst>(&I)) {
        if (mayBeShared(Store->getPointerOperand()))
          return false;
        continue;
      }
      if (auto *RMW = dyn_cast<AtomicRMWInst>(&I)) {
        if (!isIdempotent(*RMW))
          return false;
        continue;
      }
      if (isa<LoadInst, AtomicCmpXchgInst, FenceInst>(I))
        continue;
      if (I.mayReadOrWriteMemory() || isa<AllocaInst>(I) || I.isEHPad())
        return false;
    }
  }
  return true;
}

/// Trying again leaves memory as trying once does.
bool LoopJudge::isIdempotent(const AtomicRMWInst &RMW) const {
  if (!L.isLoopInvariant(RMW.getValOperand()))
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

/// Splits `stay if A && B` into its parts, each of which can end the loop by
/// itself; `stay if A || B` stays whole.
void LoopJudge::collectLeaves(Value *Condition, bool StaysIf,
                              SmallVectorImpl<ExitLeaf> &Leaves) const {
  Value *A, *B;
  if (match(Condition, m_Not(m_Value(A))))
    return collectLeaves(A, !StaysIf, Leaves);
  if (StaysIf ? match(Condition, m_LogicalAnd(m_Value(A), m_Value(B)))
              : match(Condition, m_LogicalOr(m_Value(A), m_Value(B)))) {
    collectLeaves(A, StaysIf, Leaves);
    collectLeaves(B, StaysIf, Leaves);
    return;
  }
  Leaves.push_back({Condition, StaysIf});
}

/// Sorts the exits into those only others can cause and the loop's own. True if
/// there is one of the former.
bool LoopJudge::judgeExits() {
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  for (BasicBlock *B : Exiting) {
    SmallVector<ExitLeaf, 4> Leaves;
    if (auto *Br = dyn_cast<BranchInst>(B->getTerminator())) {
      collectLeaves(Br->getCondition(), L.contains(Br->getSuccessor(0)),
                    Leaves);
    } else if (auto *Switch = dyn_cast<SwitchInst>(B->getTerminator())) {
      Leaves.push_back({Switch->getCondition(), false});
    } else {
      continue; // An unwind edge ends no wait.
    }
    for (const ExitLeaf &Leaf : Leaves) {
      Causes C = Collector.collect(Leaf.Condition);
      Walks |= C.Walks;
      if (C.onlyOthers()) {
        if (tryStaysOnSuccess(Leaf))
          return false;
        Waiting.push_back(Leaf);
        noteCauses(C);
        addGuards(B);
      } else if (C.Own || C.Clock) {
        Found.Bounded = true;
      }
    }
  }
  return !Waiting.empty();
}

/// `while (compare_exchange(...)) {}` changes memory each time round: work.
bool LoopJudge::tryStaysOnSuccess(const ExitLeaf &Leaf) const {
  auto *Extract = dyn_cast<ExtractValueInst>(Leaf.Condition);
  return Extract && Leaf.StaysIf && Extract->getIndices()[0] == 1 &&
         isa<AtomicCmpXchgInst>(Extract->getAggregateOperand());
}

/// The reads that decide whether an exit is tried at all belong to the wait:
/// `if (!lock && !exchange(&lock, 1)) break;`.
void LoopJudge::addGuards(BasicBlock *Exiting) {
  for (BasicBlock *B : L.blocks()) {
    auto *Br = dyn_cast<BranchInst>(B->getTerminator());
    if (B == Exiting || !Br || !Br->isConditional() ||
        !L.contains(Br->getSuccessor(0)) || !L.contains(Br->getSuccessor(1)) ||
        !DT.dominates(B, Exiting) || LI.getLoopFor(B) != &L)
      continue;
    Causes C = Collector.collect(Br->getCondition());
    if (C.onlyOthers())
      noteCauses(C);
  }
}

/// Plain memory compared with what is polled by other means, such as a local
/// sense passed by reference, is an operand, not a poll.
void LoopJudge::noteCauses(const Causes &C) {
  auto IsPlain = [](const Instruction *I) {
    auto *Load = dyn_cast<LoadInst>(I);
    return Load && Load->isSimple();
  };
  bool AllPlain = all_of(C.Polls, IsPlain);
  for (Instruction *Access : C.Polls)
    if (AllPlain || !IsPlain(Access))
      Accesses.insert(Access);
  Pointers.insert_range(C.Pointers);
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
    P.Volatile = true; // Assembly is opaque, and so is a foreign lock.
    P.ReadModifyWrite = Class.Effect != CallEffect::AsmLoad;
  }
  Found.Polls.push_back(P);
}

/// A lock-free update: every way round the loop goes through a compare-and-
/// exchange that expects what was just read, so it can succeed at once; or
/// through a comparison of two reads of one version number.
bool LoopJudge::retriesOnly() {
  SmallPtrSet<BasicBlock *, 4> Retries;
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B) {
      auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I);
      if (!Exchange)
        continue;
      Causes Expected = Collector.collect(Exchange->getCompareOperand());
      if (!Expected.Polls.empty() || Expected.Own)
        Retries.insert(B);
    }
  for (const ExitLeaf &Leaf : Waiting)
    // Not where the version is also seen to be odd: that is a wait.
    if (isa<ICmpInst>(Leaf.Condition) && isVersionCheck(Leaf.Condition))
      for (BasicBlock *B : L.blocks())
        if (auto *Br = dyn_cast<BranchInst>(B->getTerminator()))
          if (Br->isConditional() && Br->getCondition() == Leaf.Condition)
            Retries.insert(B);
  if (Retries.empty())
    return false;

  // Is there a way from the header back to it that avoids them all?
  SmallVector<BasicBlock *, 8> Worklist{L.getHeader()};
  SmallPtrSet<BasicBlock *, 8> Seen;
  while (!Worklist.empty()) {
    BasicBlock *B = Worklist.pop_back_val();
    if (Retries.contains(B) || !Seen.insert(B).second)
      continue;
    for (BasicBlock *Next : successors(B)) {
      if (Next == L.getHeader())
        return false;
      if (L.contains(Next))
        Worklist.push_back(Next);
    }
  }
  return true;
}

/// Compares two reads of the same address with each other, perhaps among other
/// conditions.
bool LoopJudge::isVersionCheck(const Value *Condition, unsigned Depth) const {
  // `(a & 1) || a != b`, negated: 4 levels leave room for one more.
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
  auto PolledBy = [&](const Value *V) {
    while (isa<CastInst, FreezeInst>(V))
      V = cast<Instruction>(V)->getOperand(0);
    auto *Load = dyn_cast<LoadInst>(V);
    return Load && L.contains(Load) ? Load : nullptr;
  };
  const LoadInst *First = PolledBy(Cmp->getOperand(0));
  const LoadInst *Second = PolledBy(Cmp->getOperand(1));
  return First && Second && First != Second &&
         First->getPointerOperand() == Second->getPointerOperand();
}

using RMWTest = function_ref<bool(const AtomicRMWInst &)>;

static bool contains(const Function &F, RMWTest Is, unsigned Depth) {
  // libstdc++'s largest such function has a case for each memory order, about
  // 60 instructions; operator++ calls fetch_add calls its base's: 3 levels.
  if (F.isDeclaration() || F.getInstructionCount() > 60 || Depth > 3)
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

/// Is V such a read-modify-write, or a call of a small function around one?
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

/// Drawn from a counter by fetch-and-add, perhaps a part of it.
bool LoopJudge::isTicketNumber(const Value *V, unsigned Depth) const {
  // A ticket is masked, shifted and narrowed at most; 6 leaves room for each.
  if (Depth > 6)
    return false;
  auto *I = dyn_cast<Instruction>(V);
  if (!I)
    return false;
  if (counts(I))
    return true;
  return isa<CastInst, BinaryOperator, ExtractValueInst, FreezeInst>(I) &&
         any_of(I->operands(), [&](const Value *Op) {
           return isTicketNumber(Op, Depth + 1);
         });
}

/// Computed from nothing that changes in the loop, though perhaps inside it.
bool LoopJudge::isInvariant(Value *V) {
  Causes C = Collector.collect(V);
  return C.Polls.empty() && !C.Own && !C.Clock && !C.Walks;
}

/// A queue node: its own address was exchanged into the queue's tail (MCS), or
/// it came out of there (CLH). Clang exchanges pointers as integers.
static bool isQueueNode(const Value *Address) {
  const Value *Node = getUnderlyingObject(Address, /*MaxLookup=*/16);
  if (auto *Cast = dyn_cast<IntToPtrInst>(Node))
    return exchanges(Cast->getOperand(0));
  if (isa<AllocaInst>(Node) || exchanges(Node))
    return true;
  // Exchanged itself, not exchanged into.
  auto IsStored = [](const Use &U) {
    return U.getOperandNo() != 0 && exchanges(U.getUser());
  };
  for (const Use &U : Node->uses())
    if (IsStored(U) || (isa<PtrToIntInst>(U.getUser()) &&
                        any_of(U.getUser()->uses(), IsStored)))
      return true;
  return false;
}

SpinKind LoopJudge::nameKind() {
  bool Tries = false, Reads = false, Calls = false;
  for (const Poll &P : Found.Polls) {
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
  if (any_of(Waiting, [&](const ExitLeaf &E) { return isVersionCheck(E.Condition); }))
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

  // Counting oneself in, then waiting.
  for (const DomTreeNode *N = DT.getNode(L.getHeader())->getIDom(); N;
       N = N->getIDom())
    if (any_of(*N->getBlock(), [](const Instruction &I) { return counts(&I); }))
      return SpinKind::Barrier;
  return SpinKind::Flag;
}

} // namespace

SpinLoopInfo findSpinLoops(Function &F, LoopInfo &LI, const DominatorTree &DT) {
  SpinLoopInfo Info;
  SmallVector<Loop *, 8> Loops = LI.getLoopsInPreorder();
  for (Loop *L : reverse(Loops))
    if (auto Found = LoopJudge(*L, LI, DT, Info).judge())
      Info.Loops.push_back(std::move(*Found));
  return Info;
}

AnalysisKey SpinLoopAnalysis::Key;

SpinLoopInfo SpinLoopAnalysis::run(Function &F, FunctionAnalysisManager &FAM) {
  return findSpinLoops(F, FAM.getResult<LoopAnalysis>(F),
                       FAM.getResult<DominatorTreeAnalysis>(F));
}

PreservedAnalyses SpinLoopPrinterPass::run(Function &F,
                                           FunctionAnalysisManager &FAM) {
  for (const SpinLoop &S : FAM.getResult<SpinLoopAnalysis>(F).Loops) {
    OS << F.getName() << ": " << S.L->getHeader()->getName() << ": "
       << toString(S.Kind);
    for (auto [Set, Word] : {std::pair(S.Bounded, "bounded"),
                             std::pair(S.Pauses, "pauses"),
                             std::pair(S.Yields, "yields"),
                             std::pair(S.Sleeps, "sleeps")})
      if (Set)
        OS << ", " << Word;
    for (const Poll &P : S.Polls) {
      OS << "; ";
      if (P.Address)
        P.Address->printAsOperand(OS, /*PrintType=*/false);
      else
        OS << "a lock";
      OS << " x" << P.Size << ' '
         << (P.Volatile ? "volatile"
                        : P.isPlain() ? "plain" : toIRString(P.Ordering));
      if (P.ReadModifyWrite)
        OS << " try";
    }
    OS << '\n';
  }
  return PreservedAnalyses::all();
}

} // namespace vfriendly
