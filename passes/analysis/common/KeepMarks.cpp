//===- KeepMarks.cpp - Marks on loops for later runs of the pass ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/KeepMarks.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalIFunc.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace vfriendly {

MDNode *loopIDOf(const Loop &L) {
  if (MDNode *ID = L.getLoopID())
    return ID;
  for (const BasicBlock *B : L.blocks())
    if (none_of(L, [&](const Loop *Inner) { return Inner->contains(B); }))
      if (MDNode *ID = B->getTerminator()->getMetadata(LLVMContext::MD_loop))
        return ID;
  return nullptr;
}

void mark(Loop &L, StringRef Mark) {
  addStringMetadataToLoop(&L, Mark.data(), 1);
}

/// Examines each latch: inlining may merge two loops into one, whose latches
/// carry different IDs.
bool isMarked(const Loop &L, StringRef Mark) {
  SmallVector<BasicBlock *, 4> Latches;
  L.getLoopLatches(Latches);
  return any_of(Latches, [&](const BasicBlock *Latch) {
    const MDNode *ID =
        Latch->getTerminator()->getMetadata(LLVMContext::MD_loop);
    return ID && any_of(drop_begin(ID->operands()), [&](const MDOperand &Op) {
             auto *Property = dyn_cast<MDNode>(Op);
             auto *Name = Property && Property->getNumOperands()
                              ? dyn_cast<MDString>(Property->getOperand(0))
                              : nullptr;
             return Name && Name->getString() == Mark;
           });
  });
}

FunctionSet findKeepFunctions(const Module &M) {
  FunctionSet Keep;
  const GlobalVariable *All = M.getGlobalVariable("llvm.global.annotations");
  auto *Entries = All && All->hasInitializer()
                      ? dyn_cast<ConstantArray>(All->getInitializer())
                      : nullptr;
  if (!Entries)
    return Keep;
  for (const Use &U : Entries->operands()) {
    auto *Entry = dyn_cast<ConstantStruct>(U);
    if (!Entry || Entry->getNumOperands() < 2)
      continue;
    auto *F = dyn_cast<Function>(Entry->getOperand(0)->stripPointerCasts());
    StringRef Text;
    if (F && getConstantStringInfo(Entry->getOperand(1), Text) &&
        Text == "vfriendly:keep")
      Keep.insert(F);
  }
  return Keep;
}

static bool isSigaction(const Type *T) {
  auto *Struct = dyn_cast<StructType>(T);
  return Struct && Struct->hasName() && Struct->getName() == "struct.sigaction";
}

/// Returns true if U installs a handler: signal(n, F), or F stored into a
/// struct sigaction.
static bool installsHandler(const Use &U) {
  const User *Usr = U.getUser();
  if (auto *Call = dyn_cast<CallBase>(Usr)) {
    const Function *Callee = Call->getCalledFunction();
    return Callee && Call->isArgOperand(&U) &&
           (Callee->getName() == "signal" ||
            Callee->getName() == "sysv_signal" ||
            Callee->getName() == "__sysv_signal" ||
            Callee->getName() == "bsd_signal");
  }
  if (auto *Store = dyn_cast<StoreInst>(Usr)) {
    // Accepts a store at the address of the struct sigaction itself, because
    // the handler is its first member.
    const Value *Object = getUnderlyingObject(Store->getPointerOperand());
    if (auto *Local = dyn_cast<AllocaInst>(Object))
      return isSigaction(Local->getAllocatedType());
    if (auto *Global = dyn_cast<GlobalVariable>(Object))
      return isSigaction(Global->getValueType());
    return false;
  }
  auto *Aggregate = dyn_cast<ConstantStruct>(Usr);
  return Aggregate && isSigaction(Aggregate->getType());
}

/// Returns true if the module installs F as a signal handler, directly or as a
/// member of a constant struct sigaction.
static bool isHandler(const Function &F) {
  SmallVector<const Value *, 4> Worklist{&F};
  SmallPtrSet<const Value *, 4> Seen;
  while (!Worklist.empty()) {
    const Value *V = Worklist.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    for (const Use &U : V->uses()) {
      if (installsHandler(U))
        return true;
      // sa_handler and sa_sigaction share a union, so the handler may be in a
      // constant that is a member of the constant struct sigaction.
      if (isa<ConstantStruct>(U.getUser()))
        Worklist.push_back(U.getUser());
    }
  }
  return false;
}

FunctionSet findSignalHandlers(const Module &M) {
  FunctionSet Handlers;
  if (!M.getFunction("signal") && !M.getFunction("sigaction") &&
      !M.getFunction("bsd_signal") && !M.getFunction("__sysv_signal") &&
      !M.getFunction("sysv_signal"))
    return Handlers;
  for (const Function &F : M)
    if (isHandler(F))
      Handlers.insert(&F);
  return Handlers;
}

FunctionSet findResolvers(const Module &M) {
  FunctionSet Resolvers;
  SmallVector<const Function *, 4> Worklist;
  auto Add = [&](const Function *F) {
    if (F && !F->isDeclaration() && Resolvers.insert(F).second)
      Worklist.push_back(F);
  };
  for (const GlobalIFunc &I : M.ifuncs())
    Add(I.getResolverFunction());
  while (!Worklist.empty())
    for (const Instruction &I : instructions(*Worklist.pop_back_val()))
      if (auto *Call = dyn_cast<CallBase>(&I))
        Add(Call->getCalledFunction());
  return Resolvers;
}

} // namespace vfriendly
