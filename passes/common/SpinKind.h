//===- SpinKind.h - What kind of wait a loop is -----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_SPINKIND_H
#define VFRIENDLY_PASSES_COMMON_SPINKIND_H

#include "llvm/ADT/StringRef.h"

namespace vfriendly {

/// The kind of a spin loop, by the shape of the code around it. The check
/// never reports the last three: it names the call that polls, and does not
/// report the others.
enum class SpinKind {
  Flag,              ///< A flag or counter is polled.
  TryLock,           ///< A read-modify-write is tried until it succeeds.
  TestAndTestAndSet, ///< Polled by reads between the tries.
  Ticket,            ///< Polled until it equals a number drawn before.
  Queue,             ///< Polled in the waiter's own queue node.
  Barrier,           ///< Polled after counting oneself in.
  SeqLock,           ///< Polled until a version number is even and unchanged.
  TryLockCall,       ///< A library's trylock is called until it succeeds.
  Call,   ///< A function whose effects are unknown is called for that.
  Retry,  ///< Not a wait: a lock-free update that was overtaken.
  Device, ///< Not a wait for a thread: memory at a constant address.
};

/// Returns the name of the kind in remarks, such as "try-lock".
llvm::StringRef toString(SpinKind Kind);

/// Returns the words that the check's report puts before the polled memory:
/// "on a ticket lock, ". Empty for kinds that the variable or the call
/// describes.
llvm::StringRef phraseOf(SpinKind Kind);

} // namespace vfriendly

#endif
