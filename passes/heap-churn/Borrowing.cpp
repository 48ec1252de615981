//===- Borrowing.cpp - What calls do with memory they are given -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Borrowing.h"

#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/ModRef.h"

using namespace llvm;

namespace vfriendly {

/// Functions of the C library that return a place in their first argument, or
/// null, and keep nothing. LLVM knows that of some of them only.
static bool returnsPlaceInFirst(const CallBase &Call,
                                const TargetLibraryInfo &TLI) {
  LibFunc Which;
  if (!TLI.getLibFunc(Call, Which))
    return false;
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
    return true;
  default:
    return false;
  }
}

/// The C library's with format strings do not keep what they are given, but
/// only of the arguments with names LLVM can say so.
static bool onlyFormats(const CallBase &Call, const TargetLibraryInfo &TLI) {
  LibFunc Which;
  if (!TLI.getLibFunc(Call, Which))
    return false;
  switch (Which) {
  case LibFunc_printf:
  case LibFunc_fprintf:
  case LibFunc_sprintf:
  case LibFunc_sprintf_chk:
  case LibFunc_snprintf:
  case LibFunc_snprintf_chk:
  case LibFunc_scanf:
  case LibFunc_fscanf:
  case LibFunc_sscanf:
    return true;
  default:
    return false;
  }
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

/// More than whether there is any memory? That stays as it was.
static bool tellsPlace(CaptureComponents Of) {
  return capturesAnything(Of & ~CaptureComponents::AddressIsNull);
}

bool isRealloc(const CallBase &Call, const TargetLibraryInfo &TLI) {
  LibFunc Which;
  return getReallocatedOperand(&Call) ||
         (TLI.getLibFunc(Call, Which) &&
          (Which == LibFunc_realloc || Which == LibFunc_reallocf ||
           Which == LibFunc_reallocarray || Which == LibFunc_vec_realloc));
}

bool isPlainFree(const CallBase &Call, const TargetLibraryInfo &TLI) {
  LibFunc Which;
  return TLI.getLibFunc(Call, Which) && Which == LibFunc_free &&
         isa<CallInst>(Call) && !Call.isMustTailCall() &&
         !Call.hasOperandBundles();
}

StringRef whyNotBorrowed(const CallBase &Call, const Use &U,
                         const TargetLibraryInfo &TLI) {
  if (isRealloc(Call, TLI))
    return "its size is changed";
  if (getFreedOperand(&Call, &TLI) == U.get())
    return "it is freed in another way than it was taken";
  if (!Call.isArgOperand(&U))
    return "its address is used in an unusual way";
  if (auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call))
    return onlyAccesses(*Intrinsic) ? ""
                                    : "its address is used in an unusual way";
  if (Call.isMustTailCall())
    return "its address is given to a tail call";
  unsigned Number = Call.getArgOperandNo(&U);
  if ((Number == 0 && returnsPlaceInFirst(Call, TLI)) || onlyFormats(Call, TLI))
    return "";
  if (tellsPlace(Call.getCaptureInfo(Number).getOtherComponents()))
    return "a function it is given to may keep its address";
  LibFunc Known;
  if (!TLI.getLibFunc(Call, Known) && !Call.hasFnAttr(Attribute::NoFree) &&
      !Call.paramHasAttr(Number, Attribute::NoFree) &&
      !Call.onlyReadsMemory(Number))
    return "a function it is given to may free it";
  return "";
}

bool mayReturnPlaceIn(const CallBase &Call, const Use &U,
                      const TargetLibraryInfo &TLI) {
  if (isa<IntrinsicInst>(Call))
    return false;
  unsigned Number = Call.getArgOperandNo(&U);
  if (Number == 0 && returnsPlaceInFirst(Call, TLI))
    return true;
  return !onlyFormats(Call, TLI) &&
         tellsPlace(Call.getCaptureInfo(Number).getRetComponents());
}

} // namespace vfriendly
