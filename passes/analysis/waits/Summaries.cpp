//===- Summaries.cpp - What called functions do ---------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/Summaries.h"

#include "passes/analysis/common/KeepMarks.h"
#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Causes.h"
#include "passes/analysis/waits/Devices.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace vfriendly {

CalleeEffects &CalleeEffects::operator|=(const CalleeEffects &Other) {
  Adds |= Other.Adds;
  Tries |= Other.Tries;
  Reads |= Other.Reads;
  ReadsMarked |= Other.ReadsMarked;
  ReadsClock |= Other.ReadsClock;
  Hint = std::max(Hint, Other.Hint);
  return *this;
}

static bool hasUsualBody(const Function &F) {
  return !F.isDeclaration() && !F.hasFnAttribute(Attribute::Naked) &&
         !F.hasFnAttribute(Attribute::ReturnsTwice) && !F.isPresplitCoroutine();
}

bool mayInline(const Function &F) {
  return hasUsualBody(F) && !F.hasFnAttribute(KeepMark) &&
         !F.isInterposable() && !F.hasFnAttribute(Attribute::NoInline) &&
         !F.hasFnAttribute(Attribute::OptimizeNone) && !F.isVarArg();
}

/// The linker may replace an inexact definition by a copy of the function with
/// other effects, for example one that is less optimized.
bool Summaries::mayDescribe(const Function &F) const {
  return (For == Inline ? mayInline(F)
                        : hasUsualBody(F) && F.hasExactDefinition() &&
                              !F.doesNotReturn()) &&
         hasNItemsOrLess(instructions(F), MaxCalleeInstructions);
}

/// Returns true if Object is a thread-local variable, perhaps returned by a
/// function that returns nothing else.
static bool isThreadLocal(const Value *Object) {
  auto *Call = dyn_cast<CallBase>(Object);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  if (!Callee)
    return false;
  if (Callee->getIntrinsicID() == Intrinsic::threadlocal_address)
    return true;
  return mayInline(*Callee) && Callee->size() == 1 &&
         any_of(Callee->getEntryBlock(), [](const Instruction &I) {
           auto *Return = dyn_cast<ReturnInst>(&I);
           auto *Result =
               Return
                   ? dyn_cast_or_null<IntrinsicInst>(Return->getReturnValue())
                   : nullptr;
           return Result &&
                  Result->getIntrinsicID() == Intrinsic::threadlocal_address;
         });
}

bool isLocalStore(const Value *V, ParameterSet Locals) {
  const Value *Object = getUnderlyingObject(V);
  if (isThreadLocal(Object))
    return true;
  if (auto *Arg = dyn_cast<Argument>(Object))
    return Arg->getArgNo() < 32 && (Locals >> Arg->getArgNo() & 1);
  return isa<AllocaInst>(Object);
}

/// Returns the parameters of the called function that point to local variables
/// of the loop's function, if the calling function's parameters in Locals do.
static ParameterSet localsOf(const CallBase &Call, ParameterSet Locals) {
  ParameterSet OfCallee = 0;
  for (unsigned I = 0; I != Call.arg_size() && I != 32; ++I)
    if (isLocalStore(Call.getArgOperand(I), Locals))
      OfCallee |= 1u << I;
  return OfCallee;
}

std::optional<CalleeEffects> Summaries::of(Function &F, ParameterSet Locals,
                                           unsigned Depth) {
  if (Depth > MaxCallDepth || !mayDescribe(F))
    return std::nullopt;
  auto [It, New] = Known.try_emplace({&F, Locals}); // Ends recursion.
  if (!New)
    return It->second;

  // Follows the paths from the entry until they have an effect. Blocks that end
  // in abort or terminate are not part of a wait, but those that throw may
  // lead to one in another unit.
  CalleeEffects Does;
  bool Returns = false;
  SmallVector<BasicBlock *, 8> Worklist{&F.getEntryBlock()};
  SmallPtrSet<BasicBlock *, 8> Seen;
  while (!Worklist.empty()) {
    BasicBlock *B = Worklist.pop_back_val();
    if (!Seen.insert(B).second ||
        (For == Inline && isa<UnreachableInst>(B->getTerminator())))
      continue;
    CalleeEffects OfBlock;
    if (!all_of(*B, [&](Instruction &I) {
          return add(I, Locals, OfBlock, Depth);
        })) {
      Does.Tries = true;
      continue;
    }
    Does |= OfBlock;
    Returns |= isa<ReturnInst>(B->getTerminator());
    append_range(Worklist, successors(B));
  }
  // A function that does not tell whether it has succeeded is no try. The
  // destructor of a local object is one: the object tells.
  bool Tells = !F.getReturnType()->isVoidTy() || F.hasStructRetAttr() ||
               ((Locals & 1) && isDestructor(F));
  if (Does.Tries && (For == Record || !Returns || !Does.Reads || !Tells))
    return std::nullopt;
  Known[{&F, Locals}] = Does;
  return Does;
}

/// Returns true if Address points into a local variable of the executing
/// function that does not escape.
static bool isOwnVariable(const Value *Address) {
  return isa<AllocaInst>(getUnderlyingObject(Address)) && !mayBeShared(Address);
}

/// Returns true if callers of other units may rely on what I does, apart from
/// what it calls.
static bool isRecordable(const Instruction &I) {
  if (auto *Memory = dyn_cast<MemIntrinsic>(&I))
    return isOwnVariable(Memory->getDest());
  if (auto *Call = dyn_cast<CallBase>(&I))
    return !is_contained({CallEffect::TryLock, CallEffect::Lock,
                          CallEffect::AsmTry, CallEffect::AsmAdd,
                          CallEffect::AsmStore},
                         classifyCall(*Call).Effect);
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return isOwnVariable(Store->getPointerOperand());
  if (auto *Load = dyn_cast<LoadInst>(&I)) {
    // Volatile memory behind a pointer may be a device.
    const Value *Address = Load->getPointerOperand();
    return !isDeviceAddress(Address) &&
           (!Load->isVolatile() ||
            isa<GlobalVariable>(getUnderlyingObject(Address)));
  }
  return isa<FenceInst, AllocaInst>(I) ||
         (!I.mayReadOrWriteMemory() && !I.mayThrow() && !I.isEHPad());
}

/// Adds what I, an instruction of a called function, does to Does. Returns
/// false if a spin loop may not execute I.
bool Summaries::add(Instruction &I, ParameterSet Locals, CalleeEffects &Does,
                    unsigned Depth) {
  if (For == Record && !isRecordable(I))
    return false;
  if (auto *Call = dyn_cast<CallBase>(&I))
    return (For == Record && Call->doesNotReturn()) ||
           add(*Call, Locals, Does, Depth);
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return isLocalStore(Store->getPointerOperand(), Locals);
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
    Does.Adds |= RMW->getOperation() == AtomicRMWInst::Add ||
                 RMW->getOperation() == AtomicRMWInst::Sub;
  // What the function alone may write does not make its result vary.
  auto *Load = For == Record ? dyn_cast<LoadInst>(&I) : nullptr;
  Does.Reads |=
      Load ? mayBeShared(Load->getPointerOperand()) : I.mayReadFromMemory();
  Does.ReadsMarked |= isMarkedAccess(I);
  return !isa<IndirectBrInst>(I);
}

bool Summaries::add(CallBase &Call, ParameterSet Locals, CalleeEffects &Does,
                    unsigned Depth) {
  CallClass Class = classifyCall(Call);
  Does.Adds |= Class.Effect == CallEffect::AsmAdd;
  Does.ReadsClock |= Class.Effect == CallEffect::Clock;
  Does.Reads |= Class.Effect == CallEffect::Reads;
  if (isHint(Class.Effect))
    Does.Hint = std::max(Does.Hint, Class.Effect);
  if (isMarkedAccess(Call))
    Does.Reads = Does.ReadsMarked = true;
  if (Class.Effect == CallEffect::AsmStore)
    return isLocalStore(Class.Address, Locals);
  if (Class.Effect != CallEffect::Other)
    return true;
  if (auto *Memory = dyn_cast<MemIntrinsic>(&Call)) {
    if (auto *Copy = dyn_cast<MemTransferInst>(Memory))
      Does.Reads |= mayBeShared(Copy->getSource());
    return isLocalStore(Memory->getDest(), Locals);
  }
  Function *Callee = Call.getCalledFunction();
  if (!Callee || (For == Inline && Call.isNoInline()))
    return false;
  std::optional<CalleeEffects> Inside =
      of(*Callee, localsOf(Call, Locals), Depth + 1);
  if (Inside)
    Does |= *Inside;
  return Inside.has_value();
}

} // namespace vfriendly
