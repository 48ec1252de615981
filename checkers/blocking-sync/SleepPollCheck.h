//===- SleepPollCheck.h - vfriendly-blocking-sync-sleep-poll ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_SLEEPPOLLCHECK_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_SLEEPPOLLCHECK_H

#include "checkers/blocking-sync/SyncCheck.h"

namespace vfriendly::tidy {

/// Reports loops that take a lock, test a condition, and sleep or yield before
/// the next test.
class SleepPollCheck : public SyncCheck {
public:
  using SyncCheck::SyncCheck;

private:
  void inspect(const SyncModel &Model,
               const clang::ASTContext &Context) override;
};

} // namespace vfriendly::tidy

#endif
