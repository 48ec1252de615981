//===- ThreadWork.h - What a new thread does --------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_THREADWORK_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_THREADWORK_H

#include "checkers/common/SyncModel.h"

namespace vfriendly::tidy {

/// What the code that a new thread runs does, as far as it is visible.
struct ThreadWork {
  bool IsKnown = false;
  /// It takes locks, or waits for other threads in another way. A lock that is
  /// taken once, to add a result after all loops, does not count.
  bool WaitsForOthers = false;
  /// It waits for input or for time.
  bool WaitsOutside = false;
};

/// Returns what the thread that Create starts does.
ThreadWork workOf(const SyncSite &Create, const SyncModel &Model,
                  const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
