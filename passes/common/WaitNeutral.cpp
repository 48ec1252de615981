//===- WaitNeutral.cpp - What a call means to a waiting loop --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/common/WaitNeutral.h"

#include "passes/common/LLVMVersions.h"
#include "passes/common/TellingNames.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InlineAsm.h"
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

static CallEffect classifyLibraryFunction(StringRef Name) {
  return StringSwitch<CallEffect>(Name)
#define VF_NEUTRAL(NAME, WHAT) .Case(#NAME, CallEffect::WHAT)
#include "passes/common/WaitNeutral.def"
      .Default(CallEffect::Other);
}

static CallEffect classifyIntrinsic(const CallBase &Call, Intrinsic::ID ID) {
  switch (ID) {
  case Intrinsic::x86_sse2_pause:
  case Intrinsic::x86_tpause:
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
    return CallEffect::None;
  default:
    return Call.doesNotAccessMemory() ? CallEffect::None : CallEffect::Other;
  }
}

/// Returns the mnemonics of an assembly text. Prefixes (rep, lock) are separate
/// words; directives and operands are omitted.
static SmallVector<StringRef, 4> mnemonics(StringRef Text) {
  SmallVector<StringRef, 4> Words;
  SmallVector<StringRef, 4> Lines;
  for (StringRef Line : split(Text, '\n')) {
    SmallVector<StringRef, 4> Parts;
    Line.split(Parts, ';');
    Lines.append(Parts);
  }
  for (StringRef Line : Lines) {
    Line = Line.trim();
    while (!Line.empty()) {
      auto [Word, Rest] =
          Line.split(Line.contains(' ') && (!Line.contains('\t') ||
                                            Line.find(' ') < Line.find('\t'))
                         ? ' '
                         : '\t');
      if (!Word.ends_with(":"))
        Words.push_back(Word);
      if (Word != "rep" && Word != "lock" && !Word.ends_with(":"))
        break;
      Line = Rest.trim();
    }
  }
  return Words;
}

/// Returns the only memory operand of an assembly statement, or null.
static Value *memoryOperand(const CallBase &Call) {
  Value *Found = nullptr;
  for (unsigned I = 0; I != Call.arg_size(); ++I) {
    Value *Arg = Call.getArgOperand(I);
    if (!Arg->getType()->isPointerTy() || !Call.getParamElementType(I))
      continue;
    // "+m" appears as an output and as an input: the same pointer twice.
    if (Found && Found != Arg)
      return nullptr;
    Found = Arg;
  }
  return Found;
}

static CallClass classifyAsm(const CallBase &Call, const InlineAsm &Asm) {
  std::string Text = StringRef(Asm.getAsmString()).lower();
  SmallVector<StringRef, 4> Words = mnemonics(Text);

  auto AllOf = [&](std::initializer_list<StringLiteral> Allowed) {
    return all_of(Words, [&](StringRef W) { return is_contained(Allowed, W); });
  };
  if (AllOf({"mfence", "lfence", "sfence", "dmb", "dsb", "fence"}))
    return {CallEffect::None}; // The empty text too: a compiler barrier.
  if (AllOf({"pause", "rep", "nop", "yield", "isb", "wfe", "sevl"}))
    return {CallEffect::Pause};
  if (AllOf({"rdtsc", "rdtscp", "lfence", "mfence", "rdtime", "isb", "mrs",
             "shl", "shlq", "salq", "or", "orq"}))
    return {CallEffect::Clock};

  Value *Address = memoryOperand(Call);
  // A Valgrind client request: rotations of a register that cancel out.
  if (!Address && StringRef(Text).find_first_of("([") == StringRef::npos &&
      AllOf({"rol", "roll", "rolq", "xchg", "xchgl", "xchgq"}))
    return {CallEffect::None};
  if (!Address)
    return {CallEffect::Other};
  auto StartsWithAny = [](StringRef W, std::initializer_list<StringLiteral> P) {
    return any_of(P, [&](StringRef Prefix) { return W.starts_with(Prefix); });
  };
  // Idempotent operations: executing them twice leaves memory as executing them
  // once does. Exchange, compare and exchange, bit test and set, or, and; not
  // xadd, inc, dec.
  bool Tries = any_of(Words, [&](StringRef W) {
    return StartsWithAny(W, {"xchg", "cmpxchg", "bts", "or", "and"});
  });
  bool OnlyTries = all_of(Words, [&](StringRef W) {
    return StartsWithAny(W, {"lock", "xchg", "cmpxchg", "bts", "or", "and",
                             "set", "sbb", "mov", "xor", "test"});
  });
  if (Tries && OnlyTries)
    return {CallEffect::AsmTry, Address};
  bool Adds = any_of(Words, [&](StringRef W) {
    return StartsWithAny(W, {"xadd", "add", "sub", "inc", "dec"});
  });
  bool OnlyAdds = all_of(Words, [&](StringRef W) {
    return StartsWithAny(
        W, {"lock", "xadd", "add", "sub", "inc", "dec", "set", "sbb", "mov"});
  });
  if (Adds && OnlyAdds)
    return {CallEffect::AsmAdd, Address};
  bool OnlyMoves =
      all_of(Words, [&](StringRef W) { return W.starts_with("mov"); });
  if (OnlyMoves && !Call.getType()->isVoidTy())
    return {CallEffect::AsmLoad, Address};
  // `movl %1, %0` with "=m"(*p): the only memory operand is written.
  if (OnlyMoves && any_of(Asm.ParseConstraints(), [](const auto &C) {
        return C.isIndirect && C.Type == InlineAsm::isOutput;
      }))
    return {CallEffect::AsmStore, Address};
  return {CallEffect::Other};
}

CallClass classifyCall(const CallBase &Call) {
  if (auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand()))
    return classifyAsm(Call, *Asm);
  const Function *Callee = Call.getCalledFunction();
  if (!Callee)
    return {CallEffect::Other};
  if (Callee->isIntrinsic())
    return {classifyIntrinsic(Call, Callee->getIntrinsicID())};

  CallEffect Effect = classifyLibraryFunction(Callee->getName());
  // select and poll sleep only when they watch no descriptor.
  if (Effect == CallEffect::Sleep &&
      (Callee->getName() == "select" || Callee->getName() == "poll")) {
    unsigned CountArg = Callee->getName() == "select" ? 0 : 1;
    if (Call.arg_size() <= CountArg) // A function of the program's own.
      return {CallEffect::Other};
    auto *Count = dyn_cast<ConstantInt>(Call.getArgOperand(CountArg));
    return {Count && Count->isZero() ? CallEffect::Sleep : CallEffect::Other};
  }
  if (Effect == CallEffect::Other && Call.doesNotAccessMemory() &&
      Call.doesNotThrow())
    return {CallEffect::None};
  return {Effect};
}

std::string calledName(const CallBase &Call) {
  const Value *Called = Call.getCalledOperand()->stripPointerCasts();
  if (auto *Load = dyn_cast<LoadInst>(Called))
    Called = dyn_cast<GlobalVariable>(Load->getPointerOperand());
  if (!Called || !Called->hasName())
    return "";
  std::string Name = Called->getName().str();
  ItaniumPartialDemangler Demangler;
  if (Demangler.partialDemangle(Name.c_str()) || !Demangler.isFunction())
    return Name;
  std::unique_ptr<char, decltype(&std::free)> Base(
      Demangler.getFunctionBaseName(nullptr, nullptr), &std::free);
  return Base ? Base.get() : Name;
}

CallEffect promisedEffect(const CallBase &Call) {
  switch (whatNameTells(calledName(Call))) {
  case NameTells::Pauses:
    return CallEffect::Pause;
  case NameTells::Delays:
    return CallEffect::Sleep;
  case NameTells::ReadsClock:
    return Call.getType()->isVoidTy() ? CallEffect::Other : CallEffect::Clock;
  case NameTells::Fails:
  case NameTells::Nothing:
    break;
  }
  return CallEffect::Other;
}

} // namespace vfriendly
