//===- RuntimeCalls.h - Calls that an earlier run emitted -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names of the functions that rewritten code calls. By these names the
// analysis recognizes calls that an earlier run of the pass emitted; Rewrite.h
// emits them.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_RUNTIMECALLS_H
#define VFRIENDLY_PASSES_COMMON_RUNTIMECALLS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

namespace vfriendly {

/// A hidden function that every rewritten module defines. The function calls
/// libvfrt if libvfrt is linked, and otherwise only pauses, yields and sleeps.
inline constexpr llvm::StringLiteral WaitFunction = "vf_spin_wait_or_fallback";
/// The hidden function for loops that give up after a number of iterations
/// (BoundedSpin.h).
inline constexpr llvm::StringLiteral BoundedWaitFunction =
    "vf_spin_wait_bounded_or_fallback";
inline constexpr llvm::StringLiteral NotifyFunction = "vf_spin_notify";

/// Returns true if Call calls the function of this name directly.
inline bool calls(const llvm::CallBase &Call, llvm::StringRef Name) {
  const llvm::Function *Callee = Call.getCalledFunction();
  return Callee && Callee->getName() == Name;
}

/// Returns true if L calls the runtime's bounded wait: an earlier rewrite has
/// inserted the call into L or a loop inside L.
inline bool waitsWithBound(const llvm::Loop &L) {
  return llvm::any_of(L.blocks(), [](const llvm::BasicBlock *BB) {
    return llvm::any_of(*BB, [](const llvm::Instruction &I) {
      auto *Call = llvm::dyn_cast<llvm::CallBase>(&I);
      return Call && calls(*Call, BoundedWaitFunction);
    });
  });
}

/// Gives a call that a pass has inserted a location, At if that is one. In a
/// function with debug information the verifier requires one of each call that
/// can be inlined: those of libvfrt can, if it is linked as bitcode.
inline void setLocation(llvm::CallBase &Call, const llvm::DebugLoc &At) {
  llvm::DISubprogram *In = Call.getFunction()->getSubprogram();
  Call.setDebugLoc(At || !In ? At
                             : llvm::DebugLoc(llvm::DILocation::get(
                                   Call.getContext(), 0, 0, In)));
}

} // namespace vfriendly

#endif
