//===- ParallelUpdateCheck.h - Results that all threads update --*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_PARALLELUPDATECHECK_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_PARALLELUPDATECHECK_H

#include "checkers/blocking-sync/SyncCheck.h"

namespace vfriendly::tidy {

/// Reports critical sections, locks and atomic operations in which each
/// iteration of a parallel loop updates the same result: a loop of OpenMP, of
/// oneTBB or of an algorithm with a parallel policy.
class ParallelUpdateCheck : public SyncCheck {
public:
  using SyncCheck::SyncCheck;

private:
  void inspect(const SyncModel &Model,
               const clang::ASTContext &Context) override;
};

} // namespace vfriendly::tidy

#endif
