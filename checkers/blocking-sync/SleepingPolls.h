//===- SleepingPolls.h - Ways around a loop that sleep and look -*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   while (left) {
//     n = write(fd, from, left);
//     if (n < 0) {
//       if (errno != EAGAIN)
//         return -1;
//       usleep(100);              a way from here to here, on which the thread
//       continue;                 only asks, and gets nothing
//     }
//     from += n, left -= n;       another way, which works
//   }
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_SLEEPINGPOLLS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_SLEEPINGPOLLS_H

#include "checkers/blocking-sync/IdleEffects.h"

namespace vfriendly::tidy {

/// A sleep, or a yield, after which a thread looks again whether others have
/// done something, and that is all that it does before it sleeps again.
struct SleepingPoll {
  const SyncSite *Sleep = nullptr;
  /// The innermost loop around Sleep; null for one of gotos.
  const clang::Stmt *Loop = nullptr;
  /// The lock that is taken to look; null if none is.
  const SyncSite *Lock = nullptr;
  /// The function that is asked or that looks; null if memory is read.
  const clang::FunctionDecl *Asked = nullptr;
  /// Asked takes a lock or a word if it is free.
  bool Tries = false;
  /// The loop is around the calls of the function.
  bool ByCallers = false;
  /// The kernel says that the call would have blocked.
  bool WouldBlock = false;
};

class SleepingPolls {
public:
  SleepingPolls(const SyncModel &Model, const clang::ASTContext &Context)
      : Context(Context), Does(Model, Context) {}

  std::vector<SleepingPoll> in(const FunctionSync &F);

private:
  const clang::ASTContext &Context;
  IdleEffects Does;
};

} // namespace vfriendly::tidy

#endif
