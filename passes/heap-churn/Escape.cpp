//===- Escape.cpp - What may know a pointer, what may not return ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Escape.h"

#include "passes/heap-churn/Allocation.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

#include <optional>

using namespace llvm;

namespace vfriendly {

/// How many instructions of callees to look at: those that are called in loops
/// and call nothing unknown are small, or are called once and inlined.
static constexpr unsigned MaxLook = 2048;

namespace {

/// What LLVM does not know of a library function.
struct LibraryFacts {
  /// It returns a place in its first argument, or null, and keeps nothing.
  bool ReturnsFirst = false;
  /// It neither keeps nor frees what its format, the argument of that number,
  /// tells it to read or write.
  std::optional<unsigned> Format = std::nullopt;
  /// It returns, throws or ends the process: it is no cancellation point of
  /// POSIX and calls nothing of the program that may jump.
  bool ComesBack = false;
};

} // namespace

static LibraryFacts libraryFacts(const CallBase &Call,
                                 const TargetLibraryInfo &TLI) {
  LibFunc Which;
  if (!TLI.getLibFunc(Call, Which))
    return {};
  switch (Which) {
  case LibFunc_strcpy:
  case LibFunc_strncpy:
  case LibFunc_stpcpy:
  case LibFunc_stpncpy:
  case LibFunc_strcat:
  case LibFunc_strncat:
  case LibFunc_strchr:
  case LibFunc_strrchr:
  case LibFunc_strstr:
  case LibFunc_strpbrk:
  case LibFunc_memchr:
  case LibFunc_memrchr:
  case LibFunc_fgets:
    return {.ReturnsFirst = true};
  case LibFunc_printf:
  case LibFunc_scanf:
    return {.Format = 0};
  case LibFunc_fprintf:
  case LibFunc_fscanf:
    return {.Format = 1};
  case LibFunc_sprintf:
  case LibFunc_sscanf:
    return {.Format = 1, .ComesBack = true};
  case LibFunc_snprintf:
    return {.Format = 2, .ComesBack = true};
  case LibFunc_sprintf_chk:
    return {.Format = 3, .ComesBack = true};
  case LibFunc_snprintf_chk:
    return {.Format = 4, .ComesBack = true};
  case LibFunc_vsprintf:
  case LibFunc_vsnprintf:
  case LibFunc_vsprintf_chk:
  case LibFunc_vsnprintf_chk:
  case LibFunc_getenv:
  case LibFunc_gettimeofday:
  case LibFunc_feof:
  case LibFunc_ferror:
  case LibFunc_fileno:
  case LibFunc_cxa_atexit:
  case LibFunc_cxa_guard_acquire:
  case LibFunc_cxa_guard_release:
  case LibFunc_cxa_guard_abort:
  case LibFunc_cxa_throw:
  case LibFunc_terminate:
  case LibFunc_exit:
    return {.ComesBack = true};
  default:
    return {};
  }
}

/// Is Format a constant that has only conversions of numbers, characters and
/// strings? `%p` tells where a block is, and `%n` and those of the program's
/// own (register_printf_specifier) may do so.
static bool isPlainFormat(const Value &Format) {
  StringRef Text;
  if (!getConstantStringInfo(&Format, Text))
    return false;
  while (Text.contains('%')) {
    Text = Text.split('%').second.ltrim("0123456789$ #+-.*'hlLqjzt");
    if (!Text.consume_front("%") &&
        (Text.empty() || !StringRef("diouxXeEfFgGaAcs[").contains(Text[0])))
      return false;
  }
  return true;
}

/// Does it tell more than whether there is any memory? That stays as it was.
static bool tellsPlace(CaptureComponents Of) {
  return capturesAnything(Of & ~CaptureComponents::AddressIsNull);
}

/// Intrinsics that access the memory they are given at most.
static bool onlyAccesses(const IntrinsicInst &Call) {
  if (isa<AnyMemIntrinsic>(Call))
    return true;
  switch (Call.getIntrinsicID()) {
  case Intrinsic::fake_use:
  case Intrinsic::prefetch:
  case Intrinsic::masked_load:
  case Intrinsic::masked_store:
    return true;
  default:
    return false;
  }
}

static PointerUse useArgument(const CallBase &Call, const Use &U,
                              const TargetLibraryInfo &TLI) {
  if (isRealloc(Call, TLI))
    return {"its size is changed"};
  if (getFreedOperand(&Call, &TLI) == U.get())
    return {"it is freed in another way than it was taken"};
  auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call);
  if (!Call.isArgOperand(&U) || (Intrinsic && !onlyAccesses(*Intrinsic)))
    return {"its address is used in an unusual way"};
  if (Intrinsic)
    return {};
  if (Call.isMustTailCall())
    return {"its address is given to a tail call"};

  unsigned Number = Call.getArgOperandNo(&U);
  LibraryFacts Facts = libraryFacts(Call, TLI);
  if (Facts.ReturnsFirst && Number == 0)
    return {"", true};
  // Of the arguments without a name LLVM can say nothing.
  if (Facts.Format && Number >= Call.getFunctionType()->getNumParams())
    return {isPlainFormat(*Call.getArgOperand(*Facts.Format))
                ? ""
                : "its address may be what a format asks for"};
  CaptureInfo Known = Call.getCaptureInfo(Number);
  if (tellsPlace(Known.getOtherComponents()))
    return {"a function it is given to may keep its address"};
  if (!Call.hasFnAttr(Attribute::NoFree) &&
      !Call.paramHasAttr(Number, Attribute::NoFree) &&
      !Call.onlyReadsMemory(Number))
    return {"a function it is given to may free it"};
  return {"", tellsPlace(Known.getRetComponents())};
}

PointerUse usePointer(const Use &U, const TargetLibraryInfo &TLI) {
  auto &I = *cast<Instruction>(U.getUser());
  if (I.isVolatile())
    return {"it is accessed as volatile"};
  if (auto *Call = dyn_cast<CallBase>(&I))
    return useArgument(*Call, U, TLI);
  if (isa<FreezeInst>(I))
    return {"", true};
  // It may be stored for a time that only the optimizer knows the end of.
  if (auto *Store = dyn_cast<StoreInst>(&I);
      Store && Store->getValueOperand() == U.get())
    return {"its address is stored"};
  UseCaptureInfo Known = DetermineUseCaptureKind(U, /*Base=*/nullptr);
  // A place in another address space has another address.
  if (Known.isPassthrough() && I.getType() == U->getType())
    return {"", true};
  if (!tellsPlace(Known))
    return {};
  if (isa<ReturnInst>(I))
    return {"it is returned"};
  return {isa<ICmpInst>(I) ? "its address is compared"
                           : "its address is computed with"};
}

/// Is it known that what Call calls returns, throws or ends the process? If
/// its body tells, Body is set to that.
static bool comesBackOrTells(const CallBase &Call, const TargetLibraryInfo &TLI,
                             const Function *&Body) {
  if (Call.hasFnAttr(Attribute::WillReturn) ||
      libraryFacts(Call, TLI).ComesBack || isAllocationFn(&Call, &TLI) ||
      getFreedOperand(&Call, &TLI))
    return true;
  // A barrier for the compiler.
  if (auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand()))
    return Asm->getAsmString().empty();
  Body = Call.getCalledFunction();
  return Body && Body->hasExactDefinition();
}

/// LLVM says willreturn only of what also does not run forever.
static bool comesBack(const CallBase &Call, const TargetLibraryInfo &TLI) {
  const Function *Body = nullptr;
  if (!comesBackOrTells(Call, TLI, Body))
    return false;
  unsigned Seen = 0;
  SmallSetVector<const Function *, 4> Bodies;
  if (Body)
    Bodies.insert(Body);
  for (unsigned Next = 0; Next != Bodies.size(); ++Next)
    for (const Instruction &I : instructions(*Bodies[Next])) {
      const Function *Inner = nullptr;
      auto *Each = dyn_cast<CallBase>(&I);
      if (++Seen > MaxLook ||
          !(Each ? comesBackOrTells(*Each, TLI, Inner) : I.willReturn()))
        return false;
      if (Inner)
        Bodies.insert(Inner);
    }
  return true;
}

bool mayLeave(const Instruction &I, const TargetLibraryInfo &TLI) {
  auto *Call = dyn_cast<CallBase>(&I);
  // A volatile store: it may trap, or let the handler of a signal jump.
  if (!Call)
    return !I.willReturn();
  bool MayThrow = !Call->doesNotThrow() && !isa<InvokeInst>(Call);
  return MayThrow || !comesBack(*Call, TLI);
}

bool mayCallBack(const CallBase &Call, const TargetLibraryInfo &TLI) {
  LibFunc Which;
  return !isa<IntrinsicInst>(Call) && !Call.isInlineAsm() &&
         !Call.hasFnAttr(Attribute::NoCallback) &&
         (!TLI.getLibFunc(Call, Which) || Which == LibFunc_qsort);
}

} // namespace vfriendly
