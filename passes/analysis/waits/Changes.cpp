//===- Changes.cpp - Changes of memory that can be undone -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/Changes.h"

#include "passes/analysis/common/WaitNeutral.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InlineAsm.h"

#include <limits>

using namespace llvm;

namespace vfriendly {

/// Returns the lock that Call takes or releases; for a lock that a local
/// variable names, such as std::lock_guard, what is stored there.
static const Value *lockOf(const CallBase &Call) {
  const Value *Lock = Call.getArgOperand(0);
  auto *Load = dyn_cast<LoadInst>(Lock);
  auto *Local =
      Load ? dyn_cast<AllocaInst>(Load->getPointerOperand()) : nullptr;
  const Value *Stored = nullptr;
  if (Local)
    for (const User *U : Local->users())
      if (auto *Store = dyn_cast<StoreInst>(U);
          Store && Store->getPointerOperand() == Local) {
        if (Stored && Stored != Store->getValueOperand())
          return Lock;
        Stored = Store->getValueOperand();
      }
  return Stored ? Stored : Lock;
}

/// Describes an addition; nothing if the amount or its negation does not fit.
static std::optional<Change> addition(Change Is) {
  auto *C = dyn_cast<ConstantInt>(Is.Amount);
  if (!C)
    return Is;
  std::optional<int64_t> Number = C->getValue().trySExtValue();
  if (!Number || *Number == std::numeric_limits<int64_t>::min())
    return std::nullopt;
  return Change{Change::Adds, Is.Address, nullptr, false,
                Is.Inverts ? -*Number : *Number};
}

/// Returns true if Call takes, tries to take or releases a lock: of a library,
/// or by the name of a function of another file.
static bool locks(const CallBase &Call) {
  CallEffect Effect = classifyCall(Call).Effect;
  if (Effect == CallEffect::Other)
    Effect = promisedEffect(Call);
  return Effect == CallEffect::Lock || Effect == CallEffect::TryLock;
}

static std::optional<Change> changeByCall(const CallBase &Call) {
  CallClass Class = classifyCall(Call);
  std::string Name = calledName(Call);
  if (locks(Call) && Call.arg_size() != 0 &&
      (Class.Effect != CallEffect::Other || StringRef(Name).contains("lock")))
    return Change{Change::Locks, lockOf(Call), nullptr,
                  StringRef(Name).contains("unlock")};
  const Value *Number = nullptr;
  for (const Use &Arg : Call.args())
    if (!Arg->getType()->isPointerTy())
      Number = Arg;
  if (Class.Effect == CallEffect::AsmAdd) {
    AsmSum Sum =
        sumOfAsm(cast<InlineAsm>(Call.getCalledOperand())->getAsmString());
    if (Sum.ByOne)
      return Change{Change::Adds, Class.Address, nullptr, false,
                    Sum.Subtracts ? -1 : 1};
    if (Number)
      return addition({Change::Adds, Class.Address, Number, Sum.Subtracts});
  } else if ((Class.Effect == CallEffect::AsmStore ||
              Class.Effect == CallEffect::AsmTry) &&
             isa_and_nonnull<ConstantInt>(Number)) {
    return Change{Change::Sets, Class.Address, Number};
  }
  return std::nullopt;
}

std::optional<Change> changeBy(const Instruction &I) {
  if (auto *Call = dyn_cast<CallBase>(&I))
    return changeByCall(*Call);
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return Change{Change::Sets, Store->getPointerOperand(),
                  Store->getValueOperand()};
  auto *RMW = dyn_cast<AtomicRMWInst>(&I);
  if (!RMW)
    return std::nullopt;
  const Value *Operand = RMW->getValOperand();
  switch (RMW->getOperation()) {
  case AtomicRMWInst::Add:
  case AtomicRMWInst::Sub:
    return addition({Change::Adds, RMW->getPointerOperand(), Operand,
                     RMW->getOperation() == AtomicRMWInst::Sub});
  case AtomicRMWInst::Xchg:
    if (isa<ConstantInt>(Operand))
      return Change{Change::Sets, RMW->getPointerOperand(), Operand};
    [[fallthrough]];
  default:
    return std::nullopt;
  }
}

bool isUndone(const Change &By, const Loop &L) {
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, [&](const Instruction &I) {
      std::optional<Change> Other = changeBy(I);
      return Other && Other->undoes(By);
    });
  });
}

} // namespace vfriendly
