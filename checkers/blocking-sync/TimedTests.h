//===- TimedTests.h - Waits that end only to test a flag --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   while (!stop) {
//     int n = epoll_wait(fd, events, 64, 100);
//     for (int i = 0; i < n; ++i)
//       handle(events[i]);
//   }
//
// After a timeout this loop only tests `stop` and waits again.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_TIMEDTESTS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_TIMEDTESTS_H

#include "checkers/common/SyncModel.h"

namespace vfriendly::tidy {

/// A wait with a timeout in a loop that after a timeout only tests Flag, which
/// another function sets, and waits again.
struct TimedTest {
  const clang::CallExpr *Wait = nullptr;
  const clang::Stmt *Loop = nullptr;
  const clang::ValueDecl *Flag = nullptr;
  /// The condition variable that is waited on; null for a wait for files.
  const clang::ValueDecl *Condition = nullptr;
};

/// Finds such waits in F: poll, epoll_wait, and waits on conditions. Waits that
/// give up after the timeout, and loops that then do something, are none.
std::vector<TimedTest> findTimedTests(const FunctionSync &F,
                                      const SyncModel &Model,
                                      const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
