//===- ThreadPerTaskCheck.h - Threads created for single tasks --*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_THREADPERTASKCHECK_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_THREADPERTASKCHECK_H

#include "checkers/blocking-sync/SyncCheck.h"

namespace vfriendly::tidy {

/// Reports loops that create a thread for each task or item, or several
/// computing threads for each CPU.
class ThreadPerTaskCheck : public SyncCheck {
public:
  using SyncCheck::SyncCheck;

private:
  void inspect(const SyncModel &Model,
               const clang::ASTContext &Context) override;
};

} // namespace vfriendly::tidy

#endif
