//===- ExitCauses.cpp - What an exit of a loop depends on -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/ExitCauses.h"

#include "passes/common/WaitNeutral.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace vfriendly {

/// Does this address, of a local or passed to a function, reach anything but
/// loads, stores to it, and calls that touch the caller's own state?
static bool escapes(const Value &Address, unsigned Depth = 0) {
  // std::atomic's constructor calls its base's, and so on: 4 levels.
  if (Depth > 4)
    return true;
  SmallVector<const Value *, 8> Worklist{&Address};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Worklist.empty()) {
    const Value *V = Worklist.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    for (const Use &U : V->uses()) {
      const User *Usr = U.getUser();
      if (isa<LoadInst, ICmpInst>(Usr))
        continue;
      if (isa<GetElementPtrInst, BitCastInst, PHINode, SelectInst,
              AddrSpaceCastInst>(Usr)) {
        Worklist.push_back(Usr);
        continue;
      }
      if (auto *Store = dyn_cast<StoreInst>(Usr))
        if (Store->getValueOperand() != V)
          continue;
      if (auto *RMW = dyn_cast<AtomicRMWInst>(Usr))
        if (RMW->getValOperand() != V)
          continue;
      if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(Usr))
        if (Exchange->getPointerOperand() == V)
          continue;
      if (auto *Call = dyn_cast<CallBase>(Usr)) {
        if (isa<MemIntrinsic>(Call) || Call->isLifetimeStartOrEnd() ||
            Call->isDroppable())
          continue;
        if (Call->isArgOperand(&U) &&
            Call->doesNotCapture(Call->getArgOperandNo(&U)))
          continue;
        CallEffect Effect = classifyCall(*Call).Effect;
        if (Effect == CallEffect::Clock || Effect == CallEffect::Sleep)
          continue;
        // Empty assembly may pass it on by another name.
        auto *Asm = dyn_cast<InlineAsm>(Call->getCalledOperand());
        if (Asm && Effect == CallEffect::None && !Asm->getAsmString().empty())
          continue;
        const Function *Callee = Call->getCalledFunction();
        if (Callee && !Callee->isDeclaration() &&
            Callee->arg_size() == Call->arg_size() && Call->isArgOperand(&U) &&
            !escapes(*Callee->getArg(Call->getArgOperandNo(&U)), Depth + 1))
          continue;
      }
      return true;
    }
  }
  return false;
}

bool mayBeShared(const Value *Address) {
  const Value *Object = getUnderlyingObject(Address, /*MaxLookup=*/16);
  if (Object->isSwiftError()) // A register in truth, handed from call to call.
    return false;
  if (auto *Local = dyn_cast<AllocaInst>(Object))
    return escapes(*Local);
  if (auto *Global = dyn_cast<GlobalVariable>(Object))
    return !Global->isConstant() && !Global->isThreadLocal();
  if (auto *Arg = dyn_cast<Argument>(Object))
    return !Arg->hasByValAttr() && !Arg->hasStructRetAttr();
  if (auto *Call = dyn_cast<CallBase>(Object)) {
    if (auto *II = dyn_cast<IntrinsicInst>(Call))
      return II->getIntrinsicID() != Intrinsic::threadlocal_address;
    return classifyCall(*Call).Effect != CallEffect::Local; // errno
  }
  return true;
}

bool isDeviceAddress(const Value *Address) {
  if (cast<PointerType>(Address->getType())->getAddressSpace() != 0)
    return true;
  const Value *Object = getUnderlyingObject(Address, /*MaxLookup=*/16);
  if (auto *Cast = dyn_cast<ConstantExpr>(Object))
    return Cast->getOpcode() == Instruction::IntToPtr;
  return isa<ConstantPointerNull>(Object);
}

Causes CauseCollector::collect(Value *V) {
  Visited.clear();
  Open.clear();
  Causes C;
  visit(V, 0, C);
  return C;
}

/// Longer chains of operands are generated code that computes, and each link
/// takes a few hundred bytes of stack.
static constexpr unsigned MaxChain = 2000;

void CauseCollector::visit(Value *V, unsigned Depth, Causes &C) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || !L.contains(I))
    return; // Stays the same for the whole wait.
  if (Open.size() == MaxChain) {
    C.Own = true;
    return;
  }
  if (!Visited.insert(I).second) {
    auto *Again = find_if(Open, [&](const auto &O) { return O.first == I; });
    if (Again == Open.end() || Depth <= Again->second)
      return;
    // A circle through the loop's own header or a variable in memory, or one
    // that a loop inside runs through before the next time round?
    bool Outer = any_of(make_range(Again, Open.end()), [&](const auto &O) {
      return isa<LoadInst>(O.first) ||
             (isa<PHINode>(O.first) && O.first->getParent() == L.getHeader());
    });
    bool Wraps = any_of(make_range(Again, Open.end()), [](const auto &O) {
      return O.first->getOpcode() == Instruction::URem ||
             O.first->getOpcode() == Instruction::SRem;
    });
    (!Outer ? C.Inner : Wraps ? C.Rotates : C.Own) = true;
    return;
  }
  Open.emplace_back(I, Depth);
  if (auto *Phi = dyn_cast<PHINode>(I)) {
    visitPhi(*Phi, Depth, C);
  } else if (auto *Load = dyn_cast<LoadInst>(I)) {
    visitLoad(*Load, Depth, C);
  } else if (auto *Call = dyn_cast<CallBase>(I)) {
    visitCall(*Call, Depth, C);
  } else if (auto *RMW = dyn_cast<AtomicRMWInst>(I)) {
    visitAddress(*RMW, RMW->getPointerOperand(), Depth, C);
  } else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(I)) {
    visitAddress(*Exchange, Exchange->getPointerOperand(), Depth, C);
  } else {
    // Looking at a value, or choosing one, is not progress; computing is.
    bool Computes = !isa<SelectInst, FreezeInst, CastInst, CmpInst,
                         ExtractValueInst, InsertValueInst>(I);
    for (Value *Op : I->operands())
      visit(Op, Depth + Computes, C);
  }
  Open.pop_back();
}

void CauseCollector::visitPhi(PHINode &Phi, unsigned Depth, Causes &C) {
  for (Value *In : Phi.incoming_values())
    visit(In, Depth, C);

  // Which value arrives is decided by the branches above the phi. At a loop
  // header that is the loop itself, whose exits are judged on their own.
  const BasicBlock *Block = Phi.getParent();
  const DomTreeNode *Above = DT.getNode(Block)->getIDom();
  if (Block == L.getHeader() || !Above)
    return;
  for (BasicBlock *B : L.blocks()) {
    if (!DT.dominates(Above->getBlock(), B) || DT.dominates(Block, B))
      continue;
    if (auto *Br = dyn_cast<BranchInst>(B->getTerminator())) {
      if (Br->isConditional())
        visit(Br->getCondition(), Depth, C);
    } else if (auto *Switch = dyn_cast<SwitchInst>(B->getTerminator())) {
      visit(Switch->getCondition(), Depth, C);
    }
  }
}

void CauseCollector::visitLoad(LoadInst &Load, unsigned Depth, Causes &C) {
  if (Load.hasMetadata(LLVMContext::MD_invariant_load))
    return visit(Load.getPointerOperand(), Depth, C);
  visitAddress(Load, Load.getPointerOperand(), Depth, C);
}

/// Collects what L stores into this object, which only its own thread can
/// write. False if L may write it by other means.
static bool collectStores(const Loop &L, const Value &Object,
                          SmallVectorImpl<Value *> &Stored) {
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B) {
      if (auto *Store = dyn_cast<StoreInst>(&I)) {
        if (getUnderlyingObject(Store->getPointerOperand()) == &Object)
          Stored.push_back(const_cast<Value *>(Store->getValueOperand()));
      } else if (auto *Call = dyn_cast<CallBase>(&I)) {
        if (any_of(Call->args(), [&](const Value *Arg) {
              return Arg->getType()->isPointerTy() &&
                     getUnderlyingObject(Arg) == &Object;
            }))
          return false;
      } else if (isa<AtomicRMWInst, AtomicCmpXchgInst>(I) &&
                 getUnderlyingObject(I.getOperand(0)) == &Object) {
        return false;
      }
    }
  return true;
}

/// A variable of this file that nothing in it writes keeps its first value.
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
                                  unsigned Depth, Causes &C) {
  const Value *Object = getUnderlyingObject(Address, /*MaxLookup=*/16);
  if (auto *Global = dyn_cast<GlobalVariable>(Object))
    // A table: its index is what matters.
    if (Global->isConstant() || isNeverWritten(*Global))
      return visit(Address, Depth, C);
  // errno tells how the call before it went, which is what counts itself.
  if (auto *Call = dyn_cast<CallBase>(Object))
    if (classifyCall(*Call).Effect == CallEffect::Local)
      return;
  if (!mayBeShared(Address)) {
    SmallVector<Value *, 4> Stored;
    C.Own |= !collectStores(L, *Object, Stored);
    for (Value *V : Stored)
      visit(V, Depth, C);
    return visit(Address, Depth, C);
  }
  visitOperands(Access, Address, C);
}

/// Access is a poll if what tells where it looks stays, or is polled too.
void CauseCollector::visitOperands(Instruction &Access,
                                   ArrayRef<Value *> Operands, Causes &C) {
  auto [It, New] = Addresses->try_emplace(&Access, nullptr);
  if (New) {
    CauseCollector ForOperands(L, DT);
    ForOperands.CallsArePolls = CallsArePolls;
    ForOperands.Addresses = Addresses;
    auto Found = std::make_unique<Causes>();
    for (Value *Operand : Operands)
      ForOperands.visit(Operand, 0, *Found);
    It = Addresses->find(&Access); // Others may have been added meanwhile.
    It->second = std::move(Found);
  } else if (!It->second) {
    C.Walks = true;
    return;
  }
  const Causes &Where = *It->second;
  if (Where.Own || Where.Clock || Where.Walks) {
    C.Walks = true;
    return;
  }
  if (Where.Rotates || Where.InTurn) {
    C.InTurn = true;
    return;
  }
  C.Polls.insert(&Access);
  if (Where.Inner)
    C.Varying.insert(&Access);
  C.Varying.insert_range(Where.Varying);
  C.Pointers.insert_range(Where.Polls);
  C.Pointers.insert_range(Where.Pointers);
}

void CauseCollector::visitCall(CallBase &Call, unsigned Depth, Causes &C) {
  CallClass Class = classifyCall(Call);
  switch (Class.Effect) {
  case CallEffect::TryLock:
    C.Polls.insert(&Call);
    return;
  case CallEffect::AsmLoad:
  case CallEffect::AsmTry:
  case CallEffect::AsmAdd:
    return visitAddress(Call, Class.Address, Depth, C);
  case CallEffect::Clock:
    C.Clock = true;
    return;
  case CallEffect::None:
    for (Value *Arg : Call.args())
      visit(Arg, Depth + 1, C);
    return;
  case CallEffect::Other:
    if (promisedEffect(Call) == CallEffect::Clock) {
      C.Clock = true;
      return;
    }
    if (CallsArePolls)
      return visitOperands(Call, SmallVector<Value *>(Call.args()), C);
    C.Own = true;
    return;
  case CallEffect::AsmStore:
  case CallEffect::Pause:
  case CallEffect::Yield:
  case CallEffect::Sleep:
  case CallEffect::Local:
    C.Own = true;
    return;
  }
}

} // namespace vfriendly
