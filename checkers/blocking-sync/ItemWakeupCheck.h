//===- ItemWakeupCheck.h - vfriendly-blocking-sync-item-wakeup --*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_ITEMWAKEUPCHECK_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_ITEMWAKEUPCHECK_H

#include "checkers/blocking-sync/SyncCheck.h"

namespace vfriendly::tidy {

/// Reports loops that put existing items into a queue one by one, with a lock
/// and a wake-up each.
class ItemWakeupCheck : public SyncCheck {
public:
  using SyncCheck::SyncCheck;

private:
  void inspect(const SyncModel &Model,
               const clang::ASTContext &Context) override;
};

} // namespace vfriendly::tidy

#endif
