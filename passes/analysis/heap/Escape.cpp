//===- Escape.cpp - Escaping pointers and non-returning calls -------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/heap/Escape.h"

#include "passes/analysis/heap/Allocation.h"
#include "passes/common/LLVMVersions.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

#include <utility>

using namespace llvm;

namespace vfriendly {

/// Maximum number of instructions to examine in a callee and the functions that
/// it calls. Larger functions rarely matter: most of them contain a call of an
/// unknown function, or are called once and inlined.
static constexpr unsigned MaxLook = 2048;

/// Library functions that return a pointer into the object of their first
/// argument, or null, and keep no copy of it.
static constexpr LibFunc ReturnsFirst[] = {
    LibFunc_strcpy, LibFunc_strncpy, LibFunc_stpcpy, LibFunc_stpncpy,
    LibFunc_strcat, LibFunc_strncat, LibFunc_strchr, LibFunc_strrchr,
    LibFunc_strstr, LibFunc_strpbrk, LibFunc_memchr, LibFunc_memrchr,
    LibFunc_fgets};

/// Library functions with a format, and the index of the format argument. They
/// neither keep nor free the arguments that the format names.
static constexpr std::pair<LibFunc, unsigned> Formats[] = {
    {LibFunc_printf, 0},   {LibFunc_scanf, 0},       {LibFunc_fprintf, 1},
    {LibFunc_fscanf, 1},   {LibFunc_sprintf, 1},     {LibFunc_sscanf, 1},
    {LibFunc_snprintf, 2}, {LibFunc_sprintf_chk, 3}, {LibFunc_snprintf_chk, 4}};

/// Library functions that LLVM does not mark willreturn, although they return,
/// throw or end the process: they are not cancellation points of POSIX, and do
/// not call functions of the program, which might call longjmp.
static constexpr LibFunc ComesBack[] = {LibFunc_sprintf,
                                        LibFunc_sprintf_chk,
                                        LibFunc_snprintf,
                                        LibFunc_snprintf_chk,
                                        LibFunc_vsprintf,
                                        LibFunc_vsprintf_chk,
                                        LibFunc_vsnprintf,
                                        LibFunc_vsnprintf_chk,
                                        LibFunc_sscanf,
                                        LibFunc_getenv,
                                        LibFunc_gettimeofday,
                                        LibFunc_feof,
                                        LibFunc_ferror,
                                        LibFunc_fileno,
                                        LibFunc_cxa_atexit,
                                        LibFunc_cxa_guard_acquire,
                                        LibFunc_cxa_guard_release,
                                        LibFunc_cxa_guard_abort,
                                        LibFunc_cxa_throw,
                                        LibFunc_terminate,
                                        LibFunc_exit};

/// Returns true if Format is a constant that has only conversions of numbers,
/// characters and strings. `%p` prints the address of a block; `%n` and the
/// program's own conversions (register_printf_specifier) may expose it.
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

static PointerUse useArgument(const CallBase &Call, const Use &U,
                              const TargetLibraryInfo &TLI) {
  if (isRealloc(Call, TLI))
    return {"its size is changed"};
  if (getFreedOperand(&Call, &TLI) == U.get())
    return {"it is freed by a function that does not match its allocation"};
  if (Call.getIntrinsicID() == FakeUse)
    return {};
  auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call);
  if (!Call.isArgOperand(&U) ||
      (Intrinsic && Intrinsic->isAssumeLikeIntrinsic()))
    return {"its address is used in an unusual way"};
  if (Call.isMustTailCall())
    return {"its address is passed to a tail call"};

  unsigned Number = Call.getArgOperandNo(&U);
  LibFunc Which;
  if (!TLI.getLibFunc(Call, Which))
    Which = NotLibFunc;
  if (is_contained(ReturnsFirst, Which) && Number == 0)
    return {"", true};
  // Function declarations have no attributes for variadic arguments, so the
  // format string tells what the function does with them.
  auto *Format =
      find_if(Formats, [&](auto &Each) { return Each.first == Which; });
  if (Format != std::end(Formats) &&
      Number >= Call.getFunctionType()->getNumParams())
    return {isPlainFormat(*Call.getArgOperand(Format->second))
                ? ""
                : "a format string may print or store its address"};
  if (mayKeepArgument(Call, Number))
    return {"a function that it is passed to may keep its address"};
  if (!Call.hasFnAttr(Attribute::NoFree) &&
      !Call.paramHasAttr(Number, Attribute::NoFree) &&
      !Call.onlyReadsMemory(Number))
    return {"a function that it is passed to may free it"};
  return {"", mayReturnArgument(Call, Number)};
}

PointerUse usePointer(const Use &U, const TargetLibraryInfo &TLI) {
  auto &I = *cast<Instruction>(U.getUser());
  if (I.isVolatile())
    return {"it is accessed as volatile"};
  if (auto *Call = dyn_cast<CallBase>(&I))
    return useArgument(*Call, U, TLI);
  if (isa<FreezeInst>(I))
    return {"", true};
  // Storing the pointer lets it escape: the memory that holds it may outlive
  // the block.
  if (auto *Store = dyn_cast<StoreInst>(&I);
      Store && Store->getValueOperand() == U.get())
    return {"its address is stored"};
  // A cast to another address space lets the pointer escape, because the object
  // has another address there.
  if (isPassthrough(U) && I.getType() == U->getType())
    return {"", true};
  if (!mayTellPlace(U))
    return {};
  if (isa<ReturnInst>(I))
    return {"it is returned"};
  return {isa<ICmpInst>(I) ? "its address is compared"
                           : "an integer is computed from its address"};
}

/// Returns true if the callee of Call is known to return, throw or end the
/// process. If that depends on the body of the callee, sets Body to the callee.
static bool comesBackOrTells(const CallBase &Call, const TargetLibraryInfo &TLI,
                             const Function *&Body) {
  LibFunc Which;
  if (Call.hasFnAttr(Attribute::WillReturn) || isAllocationFn(&Call, &TLI) ||
      getFreedOperand(&Call, &TLI) ||
      (TLI.getLibFunc(Call, Which) && is_contained(ComesBack, Which)))
    return true;
  // An empty asm statement is a compiler barrier and executes nothing, so it
  // returns.
  if (auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand()))
    return Asm->getAsmString().empty();
  Body = Call.getCalledFunction();
  return Body && Body->hasExactDefinition();
}

/// Returns true if Call is known to return, throw or end the process. LLVM's
/// willreturn is stricter: it excludes calls that never end.
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
  // A store that signal handlers may read, which is a volatile or an atomic
  // one, may allow a handler to call siglongjmp. Only the volatile one is not
  // willreturn for LLVM, as it may also trap.
  if (!Call)
    return !I.willReturn() ||
           (I.isAtomic() &&
            isa<StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(I));
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
