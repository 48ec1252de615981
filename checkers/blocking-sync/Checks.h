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

#include "checkers/blocking-sync/SpinLocks.h"
#include "checkers/common/SleepClaims.h"
#include "checkers/common/UnitCheck.h"

namespace vfriendly::tidy {

struct SleepingPoll;

/// Locks, conditions, semaphores and barriers that spin only while that costs
/// less than sleeping, and wake only threads that can proceed.
///
/// The base class of the checks, one check for each kind of unnecessary wait.
/// Each receives a model of the whole translation unit. See
/// guidelines/blocking-sync.md.
class SyncCheck : public ModelCheck<SyncModel, BlockingSync> {
protected:
  using ModelCheck::ModelCheck;

  /// Reports like UnitCheck::report; Cost is by default the cost of a wake-up.
  clang::DiagnosticBuilder
  report(clang::SourceLocation Where, clang::SourceRange Construct,
         const clang::NamedDecl &In, const llvm::Twine &Seen,
         llvm::StringRef Remedy, llvm::StringRef Cost = WakeUpCost) {
    return UnitCheck::report(Where, Construct, In, Seen, Remedy, Cost);
  }
  /// Reports Site, an expression in the function In. Cost is the part of the
  /// message that says what the code costs, by default the cost of a wake-up.
  clang::DiagnosticBuilder
  report(const clang::Expr &Site, const clang::Stmt &Construct,
         const clang::NamedDecl &In, const llvm::Twine &Seen,
         llvm::StringRef Remedy, llvm::StringRef Cost = WakeUpCost) {
    return report(Site.getExprLoc(), Construct.getSourceRange(), In, Seen,
                  Remedy, Cost);
  }
  static constexpr llvm::StringLiteral WakeUpCost =
      "each wake-up costs a virtual machine up to four exits";
};

/// Reports broadcasts after which only one waiter can proceed: the others are
/// woken in vain.
struct BroadcastCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

/// Reports what may sleep or take long while a spin lock is held, and spin
/// locks that a signal handler, the child of a fork or a thread of real-time
/// priority takes.
struct HeldCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void registerPPCallbacks(const clang::SourceManager &Sources,
                           clang::Preprocessor *Into,
                           clang::Preprocessor *Expander) override;
  void inspect(const SyncModel &, const clang::ASTContext &) override;

private:
  class Sections;
  SpinLocks Locks;
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

/// Reports signals that are sent while the mutex is held which the woken thread
/// needs. With the option Broadcasts, broadcasts as well, whose threads wait
/// for each other in any case.
struct SignalLockedCheck final : SyncCheck {
  using SyncCheck::SyncCheck;
  void storeOptions(clang::tidy::ClangTidyOptions::OptionMap &Into) override;
  void inspect(const SyncModel &, const clang::ASTContext &) override;
};

/// Reports loops that sleep, or yield, before they look again whether others
/// have done something, and waits whose timeout serves only to test a flag.
class SleepPollCheck final : public SyncCheck {
public:
  SleepPollCheck(llvm::StringRef Name, clang::tidy::ClangTidyContext *Context);
  ~SleepPollCheck() override;
  void onEndOfTranslationUnit() override;

private:
  void inspect(const SyncModel &, const clang::ASTContext &) override;
  void reportTimedTests(const SyncModel &, const clang::ASTContext &);
  void reportPoll(const SleepingPoll &, const FunctionSync &,
                  const SyncModel &);

  std::shared_ptr<SleepClaims> Claims;
  bool IsDone = false;
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
