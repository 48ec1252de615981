//===- Vetoes.cpp - Code that must not be rewritten -----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/Vetoes.h"

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/spin-loops/Describe.h"
#include "passes/spin-loops/Rewrite.h"
#include "passes/spin-loops/Writers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace vfriendly {

StringRef whyKeep(const Function &F) {
  const Module &M = *F.getParent();
  if (F.hasFnAttribute(Attribute::OptimizeNone))
    return "the function is not optimized (-O0 or optnone)";
  if (F.hasFnAttribute(Attribute::Naked))
    return "the function is naked";
  if (F.hasFnAttribute(Attribute::NoRedZone))
    return "code without a red zone is kernel code";
  if (M.getCodeModel() == CodeModel::Kernel)
    return "the code model is that of a kernel";
  if (F.getName().starts_with("vf_"))
    return "this is the runtime itself";
  return "";
}

bool isCheckedForRaces(const Module &M) {
  return any_of(M, [](const Function &F) {
    return F.hasFnAttribute(Attribute::SanitizeThread);
  });
}

/// Returns true if M contains a direct call of the function Name for which Fits
/// returns true.
static bool anyCall(const Module &M, StringRef Name,
                    function_ref<bool(const CallBase &)> Fits) {
  const Function *F = M.getFunction(Name);
  return F && any_of(F->users(), [&](const User *U) {
           const auto *Call = dyn_cast<CallBase>(U);
           return Call && Call->getCalledOperand() == F && Fits(*Call);
         });
}

bool cancelsAsynchronously(const Module &M) {
  return anyCall(M, "pthread_setcanceltype", [](const CallBase &Call) {
    // PTHREAD_CANCEL_DEFERRED is 0, in glibc and in musl.
    auto *Type = Call.arg_size() ? dyn_cast<ConstantInt>(Call.getArgOperand(0))
                                 : nullptr;
    return !Type || !Type->isZero();
  });
}

/// The numbers of the system calls prctl and seccomp in this function are those
/// of Linux on x86-64 (157, 317) and on newer architectures (167, 277).
bool entersStrictSeccomp(const Module &M) {
  auto Is = [](const CallBase &Call, unsigned I, ArrayRef<uint64_t> Values) {
    if (I >= Call.arg_size())
      return false;
    const auto *C = dyn_cast<ConstantInt>(Call.getArgOperand(I));
    return C && is_contained(Values, C->getLimitedValue());
  };
  // PR_SET_SECCOMP and SECCOMP_MODE_STRICT are 22 and 1, and
  // SECCOMP_SET_MODE_STRICT is 0.
  return anyCall(M, "prctl",
                 [&](const CallBase &Call) {
                   return Is(Call, 0, {22}) && Is(Call, 1, {1});
                 }) ||
         anyCall(M, "syscall", [&](const CallBase &Call) {
           return (Is(Call, 0, {157, 167}) && Is(Call, 1, {22}) &&
                   Is(Call, 2, {1})) ||
                  (Is(Call, 0, {317, 277}) && Is(Call, 1, {0}));
         });
}

/// A variable of the program's own is no device.
static bool isVariable(const Poll &P) {
  return locatePoll(P).Global || isLocalObject(*getUnderlyingObject(P.Address));
}

/// Returns true if Access reads a truth value or a pointer. Devices write
/// numbers.
static bool readsNoNumber(const Instruction &Access) {
  const MDNode *Range = Access.getMetadata(LLVMContext::MD_range);
  auto *End = Range && Range->getNumOperands() == 2
                  ? mdconst::dyn_extract<ConstantInt>(Range->getOperand(1))
                  : nullptr;
  return Access.getType()->isPointerTy() || (End && End->equalsInt(2));
}

bool mayBeDriver(const SpinLoop &S, const Writers &AllWriters) {
  // What is read with a lock held, threads share.
  return S.Sleeps && !S.Pauses && !S.Yields && !S.Locks &&
         all_of(S.Polls, [&](const Poll &P) {
           if (!P.Address)
             return false;
           return P.OnlyLocates ||
                  (isa<LoadInst>(P.Access) && !readsNoNumber(*P.Access) &&
                   (P.Volatile || P.isPlain()) && !isVariable(P) &&
                   !AllWriters.anySurelyFor(locatePoll(P)));
         });
}

bool mayBeRegister(const Poll &P, const SpinLoop &S,
                   const Writers &AllWriters) {
  return isa<LoadInst>(P.Access) && P.Volatile &&
         (S.Bounded || !isVariable(P)) && !AllWriters.anyFor(locatePoll(P));
}

Vetoes::Vetoes(const Module &M)
    : M(M), Keep(findKeepFunctions(M)), CheckedForRaces(isCheckedForRaces(M)),
      StrictSeccomp(entersStrictSeccomp(M)),
      AsynchronousCancel(cancelsAsynchronously(M)) {}

void Vetoes::findCallbacks() {
  Handlers = findSignalHandlers(M);
  Resolvers = findResolvers(M);
}

StringRef Vetoes::whyKeep(const Function &F) const {
  if (F.hasFnAttribute(KeepMark) || Keep.contains(&F))
    return "its function is marked vfriendly:keep";
  if (CheckedForRaces)
    return "ThreadSanitizer checks the program as written";
  return vfriendly::whyKeep(F);
}

StringRef Vetoes::whyKeepLoop(const Loop &L, const Function &F) const {
  if (isMarked(L, KeepMark))
    return "its function is marked vfriendly:keep";
  if (Handlers.contains(&F))
    return "its function is a signal handler";
  return whyKeep(F);
}

StringRef Vetoes::whyOnlyPause(const Function &F) const {
  if (Resolvers.contains(&F))
    return "the resolver of an ifunc runs it, before the program is relocated";
  if (!canBlock(M))
    return "blocking needs a 64-bit Linux ELF target";
  if (F.hasFnAttribute("no-builtins"))
    return "freestanding code (-ffreestanding, -fno-builtin) may run without "
           "an operating system";
  if (StrictSeccomp)
    return "its module enters seccomp's strict mode, where reading a clock or "
           "yielding ends the process";
  if (AsynchronousCancel)
    return "its module cancels threads asynchronously, and such threads may "
           "call only three functions of POSIX";
  if (!namesAreFree(M))
    return "the program uses names of the runtime for its own symbols";
  return "";
}

} // namespace vfriendly
