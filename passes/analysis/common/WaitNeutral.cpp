//===- WaitNeutral.cpp - Effects of calls in waiting loops ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/common/WaitNeutral.h"

#include "passes/analysis/common/TellingNames.h"
#include "passes/common/LLVMVersions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsRISCV.h"
#include "llvm/IR/IntrinsicsX86.h"

#include <cstdlib>
#include <memory>

using namespace llvm;

namespace vfriendly {

static CallEffect classifyIntrinsic(const CallBase &Call, Intrinsic::ID ID) {
  switch (ID) {
  case Intrinsic::x86_sse2_pause:
  // In umwait and mwaitx the vCPU occupies its CPU, as in a pause.
  case Intrinsic::x86_tpause:
  case Intrinsic::x86_umwait:
  case Intrinsic::x86_mwaitx:
  case Intrinsic::aarch64_hint:
  case Intrinsic::aarch64_isb:
  case RiscvPause:
    return CallEffect::Pause;
  case Intrinsic::readcyclecounter:
  case Intrinsic::readsteadycounter:
  case Intrinsic::x86_rdtsc:
  case Intrinsic::x86_rdtscp:
    return CallEffect::Clock;
  case Intrinsic::lifetime_start:
  case Intrinsic::lifetime_end:
  case Intrinsic::assume:
  case Intrinsic::donothing:
  case Intrinsic::annotation:
  case Intrinsic::x86_sse_sfence:
  case Intrinsic::x86_sse2_lfence:
  case Intrinsic::x86_sse2_mfence:
  // These only arm the monitor for the next umwait or mwaitx.
  case Intrinsic::x86_umonitor:
  case Intrinsic::x86_monitorx:
    return CallEffect::None;
  default:
    break;
  }
  // Scopes of aliases and probes of profiles among them, which nominally write
  // memory so that they keep their place.
  auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call);
  return Call.doesNotAccessMemory() ||
                 (Intrinsic && Intrinsic->isAssumeLikeIntrinsic())
             ? CallEffect::None
             : CallEffect::Other;
}

static CallClass classifyAsm(const CallBase &Call, const InlineAsm &Asm) {
  AsmOperands Has;
  Value *Address = nullptr;
  for (unsigned I = 0; I != Call.arg_size(); ++I) {
    Value *Arg = Call.getArgOperand(I);
    if (!Arg->getType()->isPointerTy() || !Call.getParamElementType(I))
      continue;
    // Two memory operands make the assembly opaque, unless they are the output
    // and the input of one "+m" operand, which have the same address.
    Has.IsOpaque |= Address && Address != Arg;
    Address = Arg;
  }
  Has.HasMemory = Address && !Has.IsOpaque;
  // A register may hold the address: `lock cmpxchg %1, (%2)`.
  if (!Address && Asm.getAsmString().find_first_of("([") != std::string::npos)
    for (const Use &Arg : Call.args())
      if (Arg->getType()->isPointerTy()) {
        Has.HasPointer = !Address;
        Address = Arg;
      }
  Has.HasResult = !Call.getType()->isVoidTy();
  Has.WritesMemory = any_of(Asm.ParseConstraints(), [](const auto &C) {
    return C.isIndirect && C.Type == InlineAsm::isOutput;
  });
  CallEffect Effect = effectOfAsm(Asm.getAsmString(), Has);
  // Which of several instructions uses the register is known for tries only.
  if (Has.HasPointer &&
      (Effect == CallEffect::AsmLoad || Effect == CallEffect::AsmStore ||
       Effect == CallEffect::AsmAdd))
    Effect = CallEffect::Other;
  return {Effect, Has.HasMemory || Has.HasPointer ? Address : nullptr};
}

/// Returns the effect that the summary file gives for Callee; Other if the
/// module has the body of Callee, which is examined instead.
static CallEffect summarizedEffect(const Function &Callee) {
  if (!Callee.isDeclaration())
    return CallEffect::Other;
  return effectFor(Callee.getFnAttribute(SummaryAttribute).getValueAsString())
      .value_or(CallEffect::Other);
}

/// Returns true for std::this_thread::sleep_for and sleep_until, templates of
/// libstdc++ and libc++.
static bool isStdSleep(StringRef Mangled) {
  return (Mangled.consume_front("_ZNSt11this_thread") ||
          Mangled.consume_front("_ZNSt3__111this_thread")) &&
         (Mangled.starts_with("9sleep_for") ||
          Mangled.starts_with("11sleep_until"));
}

CallClass classifyCall(const CallBase &Call) {
  if (auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand()))
    return classifyAsm(Call, *Asm);
  const Function *Callee = Call.getCalledFunction();
  if (!Callee)
    return {CallEffect::Other};
  if (Callee->isIntrinsic())
    return {classifyIntrinsic(Call, Callee->getIntrinsicID())};

  // A name tells nothing of a function that the program defines by itself, such
  // as a sched_yield that switches fibers. Bodies that a header provides for
  // inlining only are libc's.
  CallEffect Effect = Callee->isDeclarationForLinker()
                          ? effectOfLibraryFunction(Callee->getName())
                          : CallEffect::Other;
  // Classifies select and poll as sleeps only if they watch no descriptor.
  if (Effect == CallEffect::Sleep &&
      (Callee->getName() == "select" || Callee->getName() == "poll")) {
    unsigned CountArg = Callee->getName() == "select" ? 0 : 1;
    if (Call.arg_size() <= CountArg) // Not libc's but a program's function.
      return {CallEffect::Other};
    auto *Count = dyn_cast<ConstantInt>(Call.getArgOperand(CountArg));
    return {Count && Count->isZero() ? CallEffect::Sleep : CallEffect::Other};
  }
  if (Effect == CallEffect::Other && isStdSleep(Callee->getName()))
    Effect = CallEffect::Sleep;
  if (Effect != CallEffect::Other)
    return {Effect};
  if (Callee->hasFnAttribute(SourceAttribute))
    return {static_cast<CallEffect>(
        Callee->getFnAttributeAsParsedInteger(SourceAttribute))};
  if (Call.doesNotAccessMemory() && Call.doesNotThrow())
    return {CallEffect::None};
  return {summarizedEffect(*Callee)};
}

bool isMarkedAccess(const Instruction &I) {
  if (auto *Call = dyn_cast<CallBase>(&I)) {
    CallEffect Effect = classifyCall(*Call).Effect;
    return Effect == CallEffect::AsmLoad || Effect == CallEffect::AsmTry ||
           Effect == CallEffect::TryLock;
  }
  return I.isAtomic() ? !isa<FenceInst>(I) : I.isVolatile();
}

const Function *summarizedCallee(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  return Callee && summarizedEffect(*Callee) != CallEffect::Other ? Callee
                                                                  : nullptr;
}

/// Returns the name of a function in the source, without namespace or class.
static std::string baseName(StringRef Mangled) {
  std::string Name = Mangled.str();
  if (!Mangled.starts_with("_"))
    return Name;
  ItaniumPartialDemangler Demangler;
  if (Demangler.partialDemangle(Name.c_str()) || !Demangler.isFunction())
    return Name;
  std::unique_ptr<char, decltype(&std::free)> Base(
      Demangler.getFunctionBaseName(nullptr, nullptr), &std::free);
  return Base ? Base.get() : Name;
}

std::string calledName(const CallBase &Call) {
  if (Attribute Told = Call.getFnAttr(CalledNameAttribute); Told.isValid())
    return Told.getValueAsString().str();
  const Value *Called = Call.getCalledOperand()->stripPointerCasts();
  if (auto *Load = dyn_cast<LoadInst>(Called))
    Called = dyn_cast<GlobalVariable>(Load->getPointerOperand());
  return Called && Called->hasName() ? baseName(Called->getName()) : "";
}

bool isLocalObject(const Value &Object) {
  auto *Arg = dyn_cast<Argument>(&Object);
  return isa<AllocaInst>(Object) || (Arg && Arg->hasStructRetAttr());
}

bool isDestructor(const Function &F) {
  std::string Name = F.getName().str();
  ItaniumPartialDemangler Demangler;
  return !Demangler.partialDemangle(Name.c_str()) && Demangler.isCtorOrDtor() &&
         baseName(F.getName()).front() == '~';
}

/// Returns true if V points into a local object.
static bool isLocalAddress(const Value *V) {
  return V->getType()->isPointerTy() && isLocalObject(*getUnderlyingObject(V));
}

bool beginsOrEndsObject(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  std::string Name = Callee ? Callee->getName().str() : "";
  ItaniumPartialDemangler Demangler;
  return !Call.arg_empty() && isLocalAddress(Call.getArgOperand(0)) &&
         !Demangler.partialDemangle(Name.c_str()) && Demangler.isCtorOrDtor();
}

bool passesObjectOn(const CallBase &Call) {
  return !Call.arg_empty() && isLocalAddress(Call.getArgOperand(0)) &&
         all_of(Call.args(),
                [](const Value *Arg) {
                  return isa<Constant>(Arg) || isLocalAddress(Arg);
                }) &&
         (beginsOrEndsObject(Call) ||
          (Call.getCalledFunction() && calledName(Call) == "operator="));
}

/// Returns true if the body of the called function is seen to store to a global
/// variable, such as one that keeps the time.
static bool storesGlobally(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  return Callee && any_of(instructions(*Callee), [](const Instruction &I) {
           auto *Store = dyn_cast<StoreInst>(&I);
           return Store && isa<GlobalVariable>(
                               getUnderlyingObject(Store->getPointerOperand()));
         });
}

/// Returns true if V is what a call has returned, perhaps one in the iteration
/// before, and is compared with something.
static bool isTestedResult(const Value *V) {
  if (auto *Phi = dyn_cast<PHINode>(V))
    return any_of(Phi->incoming_values(), [](const Value *In) {
      return !isa<PHINode>(In) && isTestedResult(In);
    });
  return isa<CallBase>(V) &&
         any_of(V->users(), [](const User *U) { return isa<ICmpInst>(U); });
}

/// Returns true if the result is compared for equality with a constant, as a
/// time that is not known yet is: `if (heartbeat_time(p) == 0)`.
static bool isTestedForEquality(const CallBase &Call) {
  return any_of(Call.users(), [](const User *U) {
    auto *Compare = dyn_cast<ICmpInst>(U);
    return Compare && Compare->isEquality() &&
           any_of(Compare->operands(),
                  [](const Use &Side) { return isa<Constant>(Side); });
  });
}

CallEffect promisedEffect(const CallBase &Call) {
  const std::string Name = calledName(Call);
  // Of a function that does not only wait, a body tells more than the name.
  const Function *Callee = Call.getCalledFunction();
  const bool IsOpaque = Callee && Callee->isDeclaration();
  switch (whatNameTells(Name)) {
  case NameTells::Pauses:
    // POSIX's pause blocks until a signal arrives, and `is_idle` asks; a hint
    // has no result. A generator's yield passes on what was found.
    return ((Name == "pause" ||
             StringRef(Name).ends_with_insensitive("idle")) &&
            !Call.getType()->isVoidTy()) ||
                   any_of(Call.args(), isTestedResult)
               ? CallEffect::Other
               : CallEffect::Pause;
  case NameTells::Delays:
    return CallEffect::Sleep;
  case NameTells::ReadsClock:
    return Call.getType()->isVoidTy() || storesGlobally(Call) ||
                   isTestedForEquality(Call)
               ? CallEffect::Other
               : CallEffect::Clock;
  case NameTells::ReadsWord:
    return IsOpaque && !Call.getType()->isVoidTy() ? CallEffect::Reads
                                                   : CallEffect::Other;
  case NameTells::Tries:
    return IsOpaque && !Call.getType()->isVoidTy() ? CallEffect::TryLock
                                                   : CallEffect::Other;
  case NameTells::Locks:
    return IsOpaque && !Call.arg_empty() ? CallEffect::Lock : CallEffect::Other;
  case NameTells::Prints:
  case NameTells::Fails:
  case NameTells::Nothing:
    break;
  }
  return CallEffect::Other;
}

} // namespace vfriendly
