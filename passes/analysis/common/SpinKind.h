//===- SpinKind.h - Kinds of waits ------------------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_COMMON_SPINKIND_H
#define VFRIENDLY_PASSES_ANALYSIS_COMMON_SPINKIND_H

#include "llvm/ADT/StringRef.h"

namespace vfriendly {

/// The kind of a spin loop, recognized from the code in and around the loop.
/// The clang-tidy check does not use Call, Retry and Device: for a repeated
/// call it reports the name of the called function, and it does not report
/// lock-free retries and device registers.
enum class SpinKind {
  Flag,              ///< A flag or counter is polled.
  TryLock,           ///< A read-modify-write is tried until it succeeds.
  TestAndTestAndSet, ///< Reads poll the lock between the tries.
  Ticket,            ///< Polled until it equals this thread's number.
  Queue,             ///< Polled in the waiter's own queue node.
  Barrier,           ///< Polled after the thread has counted its arrival.
  SeqLock,           ///< Polled until a version number is even and unchanged.
  TryLockCall,       ///< A library's trylock is called until it succeeds.
  Call,              ///< A function is called until it returns another value.
  Retry,             ///< Not a wait: a failed lock-free update is repeated.
  Device,            ///< Not a wait for a thread: a device register is polled.
};

/// Returns the name of the kind in remarks, such as "try-lock".
llvm::StringRef toString(SpinKind Kind);

/// Returns the phrase that a diagnostic of the clang-tidy check puts before the
/// name of the polled memory, such as "on a ticket lock, ". Empty for kinds for
/// which the name alone is enough.
llvm::StringRef phraseOf(SpinKind Kind);

} // namespace vfriendly

#endif
