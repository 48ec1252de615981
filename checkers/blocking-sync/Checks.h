//===- Checks.h - The checks vfriendly-blocking-sync-* ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One check for each kind of unnecessary wait, each in the file of its name.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_CHECKS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_CHECKS_H

#include "checkers/blocking-sync/SyncCheck.h"

namespace vfriendly::tidy {

/// Reports broadcasts after which only one waiter can proceed: the others are
/// woken in vain.
struct BroadcastCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

/// Reports loops that put existing items into a queue one by one, with a lock
/// and a wake-up each.
struct ItemWakeupCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

/// Reports recursive locks, and classes whose methods all hold one lock for
/// their whole body.
struct MonitorCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

/// Reports critical sections, locks and atomic operations in which each
/// iteration of a parallel loop updates the same result: a loop of OpenMP, of
/// oneTBB or of an algorithm with a parallel policy.
struct ParallelUpdateCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

/// Reports threads that take items from one queue and put them into the next.
struct PipelineCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

/// Reports loops that take a lock, test a condition, and sleep or yield before
/// the next test.
struct SleepPollCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

/// Reports POSIX spin locks, whose waiters poll even while the holder is
/// preempted.
struct SpinlockCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

/// Reports loops that create a thread for each task or item, or several
/// computing threads for each CPU.
struct ThreadPerTaskCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

} // namespace vfriendly::tidy

#endif
