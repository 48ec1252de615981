//===- Sharing.cpp - Memory that other threads may write ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/Sharing.h"

#include "passes/analysis/common/WaitNeutral.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace vfriendly {

/// Returns true if the address of Local escapes: the address has uses other
/// than loads, comparisons, stores to Local, and calls that do not keep the
/// address.
static bool escapes(const AllocaInst &Local) {
  // Maximum depth of calls: std::atomic's constructor calls that of its base,
  // and so on, 4 levels.
  static constexpr unsigned MaxCalls = 4;
  SmallVector<std::pair<const Value *, unsigned>, 8> Worklist{{&Local, 0}};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Worklist.empty()) {
    auto [V, Calls] = Worklist.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    for (const Use &U : V->uses()) {
      const User *Usr = U.getUser();
      if (isa<LoadInst, ICmpInst>(Usr))
        continue;
      if (isa<GetElementPtrInst, BitCastInst, PHINode, SelectInst,
              AddrSpaceCastInst>(Usr)) {
        Worklist.push_back({Usr, Calls});
        continue;
      }
      if (auto *Store = dyn_cast<StoreInst>(Usr))
        if (Store->getValueOperand() != V)
          continue;
      if (auto *RMW = dyn_cast<AtomicRMWInst>(Usr))
        if (RMW->getValOperand() != V)
          continue;
      if (isa<AtomicCmpXchgInst>(Usr))
        if (U.getOperandNo() == AtomicCmpXchgInst::getPointerOperandIndex())
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
        // A fence does not keep the address. An empty statement such as asm(""
        // : "+r"(p)) may keep it, because its result is the address.
        auto *Asm = dyn_cast<InlineAsm>(Call->getCalledOperand());
        if (Asm && Effect == CallEffect::None && !Asm->getAsmString().empty())
          continue;
        const Function *Callee = Call->getCalledFunction();
        if (Callee && !Callee->isDeclaration() && Calls != MaxCalls &&
            Callee->arg_size() == Call->arg_size() && Call->isArgOperand(&U)) {
          Worklist.push_back(
              {Callee->getArg(Call->getArgOperandNo(&U)), Calls + 1});
          continue;
        }
      }
      return true;
    }
  }
  return false;
}

bool mayBeShared(const Value *Address) {
  const Value *Object = getUnderlyingObject(Address, /*MaxLookup=*/16);
  if (Object->isSwiftError()) // Not memory: it is passed in a register.
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

} // namespace vfriendly
