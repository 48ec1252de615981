//===- Polls.cpp - Effects of an MLIR loop's iteration --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/mlir/Polls.h"

#include "passes/analysis/waits/Judge.h"
#include "passes/mlir/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace vfriendly::vf {

/// Returns true if Op is a spin hint or a yield: it takes time and has no other
/// effect.
static bool isHint(Operation &Op) {
  if (isa<RelaxOp>(Op))
    return true;
  if (auto Call = dyn_cast<LLVM::CallIntrinsicOp>(Op))
    return Call.getIntrin() == "llvm.x86.sse2.pause" ||
           Call.getIntrin() == "llvm.aarch64.isb" ||
           Call.getIntrin() == "llvm.aarch64.hint";
  if (auto Asm = dyn_cast<LLVM::InlineAsmOp>(Op)) {
    StringRef Text = Asm.getAsmString().trim();
    return Text == "pause" || Text == "rep; nop" || Text == "isb" ||
           Text == "yield";
  }
  StringRef Callee;
  if (auto Call = dyn_cast<func::CallOp>(Op))
    Callee = Call.getCallee();
  else if (auto Call = dyn_cast<LLVM::CallOp>(Op))
    Callee = Call.getCallee().value_or("");
  return Callee == "sched_yield" || Callee == "pthread_yield";
}

static std::optional<PolledRead> asPoll(Operation &Op) {
  if (auto Load = dyn_cast<memref::LoadOp>(Op))
    return PolledRead{&Op, Load.getMemref(), Load.getIndices(),
                      Load.getResult()};
  if (auto Load = dyn_cast<LLVM::LoadOp>(Op))
    return PolledRead{&Op, Load.getAddr(), {}, Load.getResult()};
  if (auto Try = dyn_cast<LLVM::AtomicCmpXchgOp>(Op))
    return PolledRead{&Op, Try.getPtr(), {}, Value()};
  return std::nullopt;
}

/// Returns true if vf.spin_wait can poll this type: it has 1, 2, 4 or 8 bytes.
static bool isPollable(Type T) {
  if (T.isIndex() || isa<LLVM::LLVMPointerType>(T))
    return true;
  unsigned Bits = T.isIntOrFloat() ? T.getIntOrFloatBitWidth() : 0;
  return Bits == 8 || Bits == 16 || Bits == 32 || Bits == 64;
}

/// Returns true if vf.spin_wait can take the address of this type.
static bool isPlainAddress(Type T) {
  auto Memref = dyn_cast<MemRefType>(T);
  return isInDefaultSpace(T) && (!Memref || Memref.isStrided());
}

/// Returns true if the access is aligned to its size. Without an attribute, the
/// alignment is that of the type.
static bool isAligned(const PolledRead &P) {
  std::optional<uint64_t> Alignment;
  Type Polled;
  if (auto Try = dyn_cast<LLVM::AtomicCmpXchgOp>(P.Op)) {
    Alignment = Try.getAlignment();
    Polled = Try.getCmp().getType();
  } else {
    Alignment = isa<memref::LoadOp>(P.Op)
                    ? cast<memref::LoadOp>(P.Op).getAlignment()
                    : cast<LLVM::LoadOp>(P.Op).getAlignment();
    Polled = P.Seen.getType();
  }
  uint64_t Bytes =
      Polled.isIntOrFloat() ? Polled.getIntOrFloatBitWidth() / 8 : 8;
  return !Alignment || *Alignment >= Bytes;
}

void LoopFacts::visit(Operation &Op) {
  if (isa<SpinWaitOp, BackoffOp>(Op)) {
    HasWait = true;
    return;
  }
  if (isHint(Op)) {
    Of.Pauses = true;
    return;
  }
  std::optional<PolledRead> P = asPoll(Op);
  if (!P) {
    if (!isMemoryEffectFree(&Op) || Op.getNumRegions() != 0)
      Of.Effects.emplace_back();
    return;
  }
  if (!IsInvariant(P->Address) || !llvm::all_of(P->Indices, IsInvariant))
    Of.Exits.emplace_back().Whole.Causes = Walks;
  auto Try = dyn_cast<LLVM::AtomicCmpXchgOp>(Op);
  Of.OnlyRetries |= Try && (Try.getWeak() || !IsInvariant(Try.getCmp()) ||
                            !IsInvariant(Try.getVal()));
  Of.Polls.emplace_back().How = Try ? PollFact::Try : PollFact::Read;
  Polls.push_back(*P);
}

template <typename Predicate>
bool LoopFacts::reaches(Value V, Predicate Is) const {
  llvm::SetVector<Value> Todo;
  Todo.insert(V);
  for (unsigned I = 0; I != Todo.size(); ++I) {
    Value Each = Todo[I];
    if (IsInvariant(Each))
      continue;
    if (Is(Each))
      return true;
    if (Operation *Def = Each.getDefiningOp())
      Todo.insert_range(Def->getOperands());
  }
  return false;
}

void LoopFacts::addExit(Value Condition, ArgumentTest Changes) {
  CauseSet &Causes = Of.Exits.emplace_back().Whole.Causes;
  if (reaches(Condition, [&](Value V) {
        return llvm::any_of(Polls, [&](const PolledRead &P) {
          return V.getDefiningOp() == P.Op;
        });
      }))
    Causes |= Polled;
  if (reaches(Condition, [&](Value V) {
        auto Argument = dyn_cast<BlockArgument>(V);
        return Argument && Changes(Argument);
      }))
    Causes |= Own;
}

void LoopFacts::addCarried(BlockArgument Argument, Value Next) {
  if (Next == Argument ||
      (Next && !reaches(Next, [](Value V) { return isa<BlockArgument>(V); })))
    return;
  // It may count, and a wait would delay the end of the count.
  Carries = true;
}

/// Returns the reason why a verdict forbids the rewrite; empty if it does not.
static StringRef reasonFor(const Verdict &V, bool Carries) {
  if (Carries)
    return "it counts, or carries a value from one iteration to the next";
  // Such a loop ends when two polls agree, which a wait for a change delays.
  if (V.Bounded)
    return "its exit depends on what an earlier iteration polled";
  if (!V.Waits)
    return "its exit does not depend on what it polls";
  return V.Doubt;
}

StringRef LoopFacts::judge(PolledRead &Found) const {
  if (HasWait)
    return "it waits already";
  if (Polls.empty())
    return "it polls nothing";
  Verdict V = vfriendly::judge(Of);
  if (V.By == "leavesTraces")
    return "an iteration does more than poll";
  if (llvm::any_of(Of.Exits,
                   [](const Leaf &E) { return E.Whole.Causes & Walks; }))
    return "the address changes from iteration to iteration";
  if (V.Waits && V.Kind == SpinKind::Retry)
    return "a retry may succeed at once";
  Type Polled = Polls[0].Seen ? Polls[0].Seen.getType()
                              : Polls[0].Op->getOperand(1).getType();
  if (!isPollable(Polled))
    return "the polled value is not 1, 2, 4 or 8 bytes wide";
  Found = Polls.front();
  if (Polls.size() > 1)
    return "it polls several places";
  if (!isPlainAddress(Found.Address.getType()))
    return "the polled memory's layout or memory space is not supported";
  return isAligned(Found) ? reasonFor(V, Carries)
                          : "the polled value may not be aligned";
}

//===----------------------------------------------------------------------===//
// SymbolStores
//===----------------------------------------------------------------------===//

static StringAttr symbolOf(Value Address) {
  if (auto Global = Address.getDefiningOp<memref::GetGlobalOp>())
    return Global.getNameAttr().getAttr();
  if (auto Global = Address.getDefiningOp<LLVM::AddressOfOp>())
    return Global.getGlobalNameAttr().getAttr();
  return {};
}

void SymbolStores::addUse(Uses &To, OpOperand &Use) {
  Operation *Op = Use.getOwner();
  if (isa<memref::LoadOp, LLVM::LoadOp, NotifyOp, SpinWaitOp>(Op))
    return;
  bool Writes = false;
  if (auto Store = dyn_cast<memref::StoreOp>(Op))
    Writes = Store.getMemref() == Use.get();
  else if (auto Store = dyn_cast<LLVM::StoreOp>(Op))
    Writes = Store.getAddr() == Use.get() && Store.getValue() != Use.get();
  else
    Writes = isa<memref::AtomicRMWOp, LLVM::AtomicRMWOp, LLVM::AtomicCmpXchgOp>(
                 Op) &&
             Use.getOperandNumber() == (isa<memref::AtomicRMWOp>(Op) ? 1u : 0u);
  if (Writes)
    To.Stores.push_back(Op);
  else
    To.Escapes = true;
}

SymbolStores::SymbolStores(ModuleOp Module) {
  Module.walk([&](Operation *Op) {
    if (auto Global = dyn_cast<memref::GlobalOp>(Op))
      Symbols[Global.getSymNameAttr()].IsPrivate = Global.isPrivate();
    else if (auto Global = dyn_cast<LLVM::GlobalOp>(Op))
      Symbols[Global.getSymNameAttr()].IsPrivate =
          Global.getLinkage() == LLVM::Linkage::Internal ||
          Global.getLinkage() == LLVM::Linkage::Private;
    else if (isa<memref::GetGlobalOp, LLVM::AddressOfOp>(Op))
      for (OpOperand &Use : Op->getUses())
        addUse(Symbols[symbolOf(Op->getResult(0))], Use);
  });
}

bool SymbolStores::notify(Value Address) {
  StringAttr Symbol = symbolOf(Address);
  if (!Symbol)
    return false;
  Uses &Of = Symbols[Symbol];
  if (!Of.IsPrivate || Of.Escapes || Of.Stores.empty() ||
      !llvm::all_of(Of.Stores, canCallRuntime))
    return false;
  if (std::exchange(Of.Notifies, true))
    return true;
  for (Operation *Store : Of.Stores) {
    OpBuilder Builder(Store->getContext());
    Builder.setInsertionPointAfter(Store);
    Value Written;
    ValueRange Indices;
    if (auto Each = dyn_cast<memref::StoreOp>(Store)) {
      Written = Each.getMemref();
      Indices = Each.getIndices();
    } else if (auto Each = dyn_cast<memref::AtomicRMWOp>(Store)) {
      Written = Each.getMemref();
      Indices = Each.getIndices();
    } else {
      Written = isa<LLVM::StoreOp>(Store) ? Store->getOperand(1)
                                          : Store->getOperand(0);
    }
    NotifyOp::create(Builder, Store->getLoc(), Written, Indices);
  }
  return true;
}

} // namespace vfriendly::vf
