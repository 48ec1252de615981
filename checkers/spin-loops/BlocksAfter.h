//===- BlocksAfter.h - Waits that spin before they block --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (const ValueDecl *Condition = Blocks.notified(Function)) ...
//
// Finds whether a thread that polls a limited number of times blocks after
// that, and whether the code that ends the wait already wakes it: then the
// polls save a wake-up only if the wait is short.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_BLOCKSAFTER_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_BLOCKSAFTER_H

#include "checkers/common/SyncModel.h"

namespace vfriendly::tidy {

class BlocksAfter {
public:
  /// Returns the condition variable on which Function waits, if a function of
  /// the unit wakes a waiter of it; null if there is none. The unit is searched
  /// when the first function with a wait is passed.
  const clang::ValueDecl *notified(const clang::FunctionDecl &Function);

private:
  SyncModel Unit;
  bool Searched = false;
};

} // namespace vfriendly::tidy

#endif
