//===- HeldMutex.h - The mutex that is held at a call -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_HELDMUTEX_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_HELDMUTEX_H

#include "checkers/common/SyncModel.h"

namespace vfriendly::tidy {

/// A mutex that a function takes before a call and releases after it.
struct HeldMutex {
  /// Null where a caller has taken it.
  const SyncSite *Lock = nullptr;
  /// The mutex; null if it has no name.
  const clang::ValueDecl *Mutex = nullptr;
  /// The guard that holds it; null for a call that locks.
  const clang::ValueDecl *Guard = nullptr;
  /// The block in which the call that releases it is a statement, or in which
  /// the guard is declared.
  const clang::CompoundStmt *Block = nullptr;
  /// The statement of Block in which the call is.
  const clang::Stmt *Part = nullptr;
  /// The call that releases it; null where a guard's destructor does.
  const SyncSite *Unlock = nullptr;
};

/// Returns the mutexes that F holds at Site and releases afterwards without a
/// wait before that: in `lock(m); if (x) signal(c); unlock(m);` m at the
/// signal. What a branch takes or releases on its own path to a jump does not
/// count.
std::vector<HeldMutex> heldAt(const SyncSite &Site, const FunctionSync &F);

/// Returns the mutex that Wait releases while it waits; null if unknown.
const clang::ValueDecl *mutexOf(const SyncSite &Wait, const FunctionSync &F);

} // namespace vfriendly::tidy

#endif
