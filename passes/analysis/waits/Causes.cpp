//===- Causes.cpp - Causes of a value in a loop ---------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/LoopView.h"

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/common/LLVMVersions.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace vfriendly {

Causes CauseCollector::collect(Value *V) {
  begin(nullptr, V);
  while (true) {
    Step S = Steps.pop_back_val();
    switch (S.Kind) {
    case Step::Visit:
      visit(S.V, S.Depth);
      break;
    case Step::Close:
      Searches.back()->Open.pop_back();
      break;
    case Step::Finish:
      std::unique_ptr<Search> W = Searches.pop_back_val();
      if (Searches.empty())
        return std::move(W->Found);
      auto Where = std::make_unique<Causes>(std::move(W->Found));
      addAccess(*W->Access, *Where);
      Addresses[W->Access] = std::move(Where);
      break;
    }
  }
}

void CauseCollector::begin(Instruction *Access, ArrayRef<Value *> From) {
  Searches.push_back(std::make_unique<Search>());
  Searches.back()->Access = Access;
  Steps.push_back({Step::Finish});
  push(From, 0);
}

/// Returns the outermost loop inside L that contains V but not User; null if
/// there is none.
static const Loop *loopLeft(const Loop &L, const Value *V,
                            const Instruction *User) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I)
    return nullptr;
  auto ContainsI = [I](const Loop *Inner) { return Inner->contains(I); };
  for (const Loop *In = &L;;) {
    auto Inner = find_if(In->getSubLoops(), ContainsI);
    if (Inner == In->end() || !(*Inner)->contains(User))
      return Inner == In->end() ? nullptr : *Inner;
    In = *Inner;
  }
}

/// Schedules visits of the values in Next, the first of them first. How an
/// inner loop is left decides what its values are after it:
///
///   for (i = 0; i < n; ++i) if (!passed[i]) break;
///   if (i == n) return;
void CauseCollector::push(ArrayRef<Value *> Next, unsigned Depth) {
  auto &Open = Searches.back()->Open;
  for (Value *V : reverse(Next)) {
    if (!Open.empty())
      if (const Loop *Inner = loopLeft(L, V, Open.back().first)) {
        SmallVector<BasicBlock *, 4> Exiting;
        Inner->getExitingBlocks(Exiting);
        for (BasicBlock *B : Exiting)
          if (auto *Br = dyn_cast<BranchInst>(B->getTerminator()))
            Steps.push_back({Step::Visit, Br->getCondition(), Depth});
      }
    Steps.push_back({Step::Visit, V, Depth});
  }
}

/// Maximum length of a chain of operands. A longer chain counts as the loop's
/// own progress: it is generated code that computes, and the search would take
/// long, because each revisit of an instruction searches the chain.
static constexpr unsigned MaxChain = 2000;

/// Returns true if I chooses between a constant and another value, within an
/// iteration of L.
static bool mayReset(const Instruction &I, const Loop &L) {
  bool Chooses =
      isa<SelectInst>(I) || (isa<PHINode>(I) && I.getParent() != L.getHeader());
  return Chooses &&
         any_of(I.operands(), [](const Use &U) { return isa<ConstantInt>(U); });
}

void CauseCollector::visit(Value *V, unsigned Depth) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !L.contains(I))
    return; // A loop-invariant value.
  Search &W = *Searches.back();
  auto &Open = W.Open;
  Causes &C = W.Found;
  if (Open.size() == MaxChain) {
    C.Others |= Own;
    return;
  }
  if (!W.Visited.insert(I).second) {
    auto *Again = find_if(Open, [&](const auto &O) { return O.first == I; });
    if (Again == Open.end() || Depth <= Again->second)
      return;
    // Distinguishes cycles through the header of the loop, or through a
    // variable in memory, from cycles through an inner loop only, which are
    // within one iteration.
    bool Outer = any_of(make_range(Again, Open.end()), [&](const auto &O) {
      return isa<LoadInst>(O.first) ||
             (isa<PHINode>(O.first) && O.first->getParent() == L.getHeader());
    });
    Outer = Outer || any_of(make_range(Again, Open.end()),
                            [&](const auto &O) { return goesOn(*O.first, L); });
    auto Has = [&](unsigned Opcode) {
      return any_of(make_range(Again, Open.end()), [&](const auto &O) {
        return O.first->getOpcode() == Opcode;
      });
    };
    // An & makes (i + 1) & (n - 1) wrap. In a cycle through memory it may also
    // remove tag bits from the pointers of a list. An index i % n, of a counter
    // or a random number, wraps, too.
    bool Wraps =
        Has(Instruction::URem) || Has(Instruction::SRem) ||
        (Has(Instruction::And) && !Has(Instruction::Load)) ||
        (W.Access && any_of(make_range(Open.begin(), Again), [](const auto &O) {
           return O.first->getOpcode() == Instruction::URem;
         }));
    // So does a reset, as in `if (++i == n) i = 0`. Where no address is
    // computed it also counts: it decides, for example, when the loop sleeps.
    bool Resets = !Has(Instruction::Load) &&
                  any_of(make_range(Again, Open.end()),
                         [&](const auto &O) { return mayReset(*O.first, L); });
    if (Outer && Resets && !Wraps)
      C.Others |= W.Access ? Rotates : Rotates | Own;
    else
      C.Others |= !Outer ? Inner : Wraps ? Rotates : Own;
    return;
  }
  Open.emplace_back(I, Depth);
  Steps.push_back({Step::Close});
  if (auto *Phi = dyn_cast<PHINode>(I)) {
    visitPhi(*Phi, Depth);
  } else if (auto *Load = dyn_cast<LoadInst>(I)) {
    visitLoad(*Load, Depth);
  } else if (auto *Call = dyn_cast<CallBase>(I)) {
    visitCall(*Call, Depth);
  } else if (auto *RMW = dyn_cast<AtomicRMWInst>(I)) {
    visitAddress(*RMW, RMW->getPointerOperand(), Depth);
  } else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(I)) {
    visitAddress(*Exchange, Exchange->getPointerOperand(), Depth);
  } else {
    // Instructions that convert, compare or select values make no progress;
    // those that compute do.
    bool Computes = !isa<SelectInst, FreezeInst, CastInst, CmpInst,
                         ExtractValueInst, InsertValueInst>(I);
    push(SmallVector<Value *>(I->operands()), Depth + Computes);
  }
}

void CauseCollector::visitPhi(PHINode &Phi, unsigned Depth) {
  SmallVector<Value *> Next(Phi.incoming_values());
  // The branches above the phi decide which value the phi has. For a phi of the
  // loop header, these branches are the loop's exits, which are judged
  // separately.
  const BasicBlock *Block = Phi.getParent();
  const DomTreeNode *Above = DT.getNode(Block)->getIDom();
  if (Block != L.getHeader() && Above && !joinsReads(L, Phi))
    for (BasicBlock *B : L.blocks()) {
      // A branch that the phi is reached from by one side only does not choose.
      if (!DT.dominates(Above->getBlock(), B) || DT.dominates(Block, B) ||
          any_of(successors(B), [&](const BasicBlock *S) {
            return DT.dominates(BasicBlockEdge(B, S), Block);
          }))
        continue;
      if (auto *Br = dyn_cast<BranchInst>(B->getTerminator())) {
        if (Br->isConditional())
          Next.push_back(Br->getCondition());
      } else if (auto *Switch = dyn_cast<SwitchInst>(B->getTerminator())) {
        Next.push_back(Switch->getCondition());
      }
    }
  push(Next, Depth);
}

ArrayRef<StoreInst *> CauseCollector::repeatedStores() {
  if (!Repeated) {
    Repeated.emplace();
    for (BasicBlock *B : L.blocks())
      for (Instruction &I : *B)
        if (auto *Store = dyn_cast<StoreInst>(&I);
            Store && isRepeated(*Store, L))
          Repeated->push_back(Store);
  }
  return *Repeated;
}

void CauseCollector::visitLoad(LoadInst &Load, unsigned Depth) {
  if (Load.hasMetadata(LLVMContext::MD_invariant_load))
    return push(Load.getPointerOperand(), Depth);
  if (Load.isSimple()) {
    // What the loop keeps there itself: while (seen == n) seen = load(&word);
    const DataLayout &DL = Load.getDataLayout();
    Cell At = cellOf(Load.getPointerOperand(), DL);
    SmallVector<Value *, 2> Kept;
    for (StoreInst *Store : repeatedStores())
      if (cellOf(Store->getPointerOperand(), DL) == At)
        Kept.push_back(Store->getValueOperand());
    if (!Kept.empty())
      return push(Kept, Depth);
  }
  visitAddress(Load, Load.getPointerOperand(), Depth);
}

/// Collects the values that L stores to Object, which no other thread can
/// write, and returns the causes of what it writes there in other ways: a time
/// of a clock, or its own progress.
static CauseSet collectStores(const Loop &L, const Value &Object,
                              SmallVectorImpl<Value *> &Stored) {
  CauseSet Others = 0;
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B) {
      if (auto *Store = dyn_cast<StoreInst>(&I)) {
        if (getUnderlyingObject(Store->getPointerOperand()) == &Object)
          Stored.push_back(const_cast<Value *>(Store->getValueOperand()));
      } else if (auto *Call = dyn_cast<CallBase>(&I)) {
        if (any_of(Call->args(),
                   [&](const Value *Arg) {
                     return Arg->getType()->isPointerTy() &&
                            getUnderlyingObject(Arg) == &Object;
                   }) &&
            !Call->isLifetimeStartOrEnd() && !Call->doesNotAccessMemory())
          Others |=
              classifyCall(*Call).Effect == CallEffect::Clock ? Clock : Own;
      } else if (isa<AtomicRMWInst, AtomicCmpXchgInst>(I) &&
                 getUnderlyingObject(I.getOperand(0)) == &Object) {
        Others |= Own;
      }
    }
  return Others;
}

/// Returns true for an internal variable without stores: it keeps its initial
/// value.
static bool isNeverWritten(const GlobalVariable &Global) {
  if (!Global.hasLocalLinkage())
    return false;
  SmallVector<const User *, 8> Worklist(Global.users());
  while (!Worklist.empty()) {
    const User *U = Worklist.pop_back_val();
    if (isa<GEPOperator>(U))
      append_range(Worklist, U->users());
    else if (auto *Load = dyn_cast<LoadInst>(U); !Load || !Load->isSimple())
      return false;
  }
  return true;
}

void CauseCollector::visitAddress(Instruction &Access, Value *Address,
                                  unsigned Depth) {
  const Value *Object = getUnderlyingObject(Address, /*MaxLookup=*/16);
  if (auto *Global = dyn_cast<GlobalVariable>(Object)) {
    auto [It, New] = Variables.NeverWritten.try_emplace(Global, false);
    if (New)
      It->second = Global->isConstant() || isNeverWritten(*Global);
    // Follows only the address of the load, because no code writes the global
    // variable.
    if (It->second)
      return push(Address, Depth);
  }
  // Ignores a read of errno: its value is a result of the preceding call, which
  // is judged separately.
  if (auto *Call = dyn_cast<CallBase>(Object))
    if (classifyCall(*Call).Effect == CallEffect::Local)
      return;
  if (CallsArePolls) {
    // An assignment returns a reference to its object.
    auto *Assigns = dyn_cast<CallBase>(Object);
    const Value *Local =
        Assigns && passesObjectOn(*Assigns)
            ? getUnderlyingObject(Assigns->getArgOperand(0), /*MaxLookup=*/16)
            : Object;
    if (visitGivers(*Local, Depth))
      return;
  }
  if (!mayBeShared(Address)) {
    SmallVector<Value *, 4> Next;
    found().Others |= collectStores(L, *Object, Next);
    Next.push_back(Address);
    return push(Next, Depth);
  }
  // What the loop itself stores in a local variable that functions know.
  if (isa<AllocaInst>(Object)) {
    Cell At = cellOf(Address, Access.getDataLayout());
    SmallVector<Value *, 4> Next;
    for (BasicBlock *B : L.blocks())
      for (Instruction &I : *B)
        if (auto *Store = dyn_cast<StoreInst>(&I);
            Store &&
            cellOf(Store->getPointerOperand(), Access.getDataLayout()) == At)
          Next.push_back(Store->getValueOperand());
    push(Next, Depth);
  }
  visitOperands(Access, Address);
}

/// If Object is a local variable, schedules visits of the calls of L that
/// return an object of class type into it, or construct, assign or destroy it,
/// and of those that do so with an object that L copies to it. Returns false if
/// there is none.
///
///   Task t; while (!(t = steal())) yield();   steal(&temporary);
///                                             operator=(&t, &temporary);
///                                             ~Task(&temporary);
bool CauseCollector::visitGivers(const Value &Object, unsigned Depth) {
  SmallVector<Value *, 4> Givers;
  SmallSetVector<const Value *, 4> Objects; // Object, and those copied to it.
  Objects.insert(&Object);
  for (unsigned N = 0; N != Objects.size(); ++N) {
    const Value *To = Objects[N];
    if (!isLocalObject(*To))
      continue;
    auto PointsThere = [&](const Value *V) {
      return V->getType()->isPointerTy() && getUnderlyingObject(V) == To;
    };
    for (BasicBlock *B : L.blocks())
      for (Instruction &I : *B)
        if (auto *Copy = dyn_cast<MemTransferInst>(&I)) {
          if (PointsThere(Copy->getDest()))
            Objects.insert(getUnderlyingObject(Copy->getSource()));
        } else if (auto *Call = dyn_cast<CallBase>(&I)) {
          if (any_of(Call->args(), PointsThere) &&
              (Call->hasStructRetAttr() || passesObjectOn(*Call)))
            Givers.push_back(Call);
        }
  }
  push(Givers, Depth);
  return !Givers.empty();
}

/// Searches Operands, the address or the arguments of Access, for causes.
/// Access is a poll if Operands are invariant or depend on polls only.
void CauseCollector::visitOperands(Instruction &Access,
                                   ArrayRef<Value *> Operands) {
  auto [It, New] = Addresses.try_emplace(&Access, nullptr);
  if (New)
    begin(&Access, Operands);
  else if (It->second)
    addAccess(Access, *It->second);
  else
    found().Others |= Walks;
}

/// Maximum number of polls on which the address of an access depends. With
/// more, the address counts as changing in each iteration: the code is
/// generated or follows a list, and the sets of polls would take quadratic
/// memory.
static constexpr unsigned MaxPointers = 64;

void CauseCollector::addAccess(Instruction &Access, const Causes &Where) {
  Causes &C = found();
  if ((Where.Others & (Own | Clock | Walks)) ||
      Where.Polls.size() + Where.Pointers.size() > MaxPointers) {
    C.Others |= Walks;
    return;
  }
  const bool Turns = Where.Others & (Rotates | InTurn);
  if (Turns && !TurnsArePolls) {
    C.Others |= InTurn;
    return;
  }
  C.Polls.insert(&Access);
  if (Turns || (Where.Others & Inner))
    C.Varying.insert(&Access);
  insertRange(C.Varying, Where.Varying);
  insertRange(C.Pointers, Where.Polls);
  insertRange(C.Pointers, Where.Pointers);
}

bool repeatsCall(const CallBase &Call, const Loop &L) {
  return all_of(Call.args(), [&](const Value *Arg) {
    auto *Load = dyn_cast<LoadInst>(Arg);
    return L.isLoopInvariant(Arg) ||
           (Load && Arg->getType()->isPointerTy() &&
            L.isLoopInvariant(Load->getPointerOperand()));
  });
}

void CauseCollector::visitCall(CallBase &Call, unsigned Depth) {
  CallClass Class = classifyCall(Call);
  switch (Class.Effect) {
  case CallEffect::TryLock:
    found().Polls.insert(&Call);
    return;
  case CallEffect::Lock: // Its result tells of errors only.
    return;
  case CallEffect::AsmLoad:
  case CallEffect::AsmTry:
  case CallEffect::AsmAdd:
    return visitAddress(Call, Class.Address, Depth);
  case CallEffect::Clock:
    found().Others |= Clock;
    return;
  case CallEffect::None:
    return push(SmallVector<Value *>(Call.args()), Depth + 1);
  case CallEffect::Reads: {
    SmallVector<Value *> Arguments(Call.args());
    // If an argument points to memory that no other thread can write, only the
    // loop itself can change what the callee reads there.
    if (any_of(Arguments, [](const Value *V) {
          return V->getType()->isPointerTy() && !mayBeShared(V);
        }))
      found().Others |= Own;
    return visitOperands(Call, Arguments);
  }
  case CallEffect::Other:
    switch (promisedEffect(Call)) {
    case CallEffect::Clock:
      found().Others |= Clock;
      return;
    case CallEffect::Reads:
      return visitOperands(Call, SmallVector<Value *>(Call.args()));
    case CallEffect::TryLock:
      if (repeatsCall(Call, L))
        return visitOperands(Call, SmallVector<Value *>(Call.args()));
      break;
    default:
      break;
    }
    if (CallsArePolls) {
      // What the call reads of a local object, other calls have put there.
      for (Value *Arg : Call.args())
        if (Arg->getType()->isPointerTy())
          visitGivers(*getUnderlyingObject(Arg), Depth);
      return visitOperands(Call, SmallVector<Value *>(Call.args()));
    }
    found().Others |= Own;
    return;
  case CallEffect::AsmStore:
  case CallEffect::Pause:
  case CallEffect::Yield:
  case CallEffect::Sleep:
  case CallEffect::Local:
    found().Others |= Own;
    return;
  }
}

} // namespace vfriendly
