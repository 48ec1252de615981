//===- LockTakers.h - Where no spin lock may be taken -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that waits for a spin lock needs its holder to run. It never does if
//
//   1. the waiter is a signal handler that has interrupted the holder;
//   2. the waiter is the child of a fork, and the holder another thread of the
//      parent, which the child does not have;
//   3. the waiter has a real-time priority and the holder, which has none or a
//      lower one, is to run on the same CPU.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_LOCKTAKERS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_LOCKTAKERS_H

#include "checkers/blocking-sync/SpinLocks.h"

namespace vfriendly::tidy {

enum class TakerKind { Handler, Child, RealTime };

struct LockTaker {
  TakerKind Kind;
  const FunctionSync *Function; ///< That takes the lock.
  SpinSite Take;
};

/// Returns the places of the unit at which such threads take a spin lock.
std::vector<LockTaker> findLockTakers(const SyncModel &Model, SpinLocks &Locks,
                                      const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
