//===- ThreadPerTaskCheck.cpp - vfriendly-blocking-sync-thread-per-task ---===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/ThreadPerTaskCheck.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if the handle of a thread is stored in a field or an array.
/// Even if such a thread is detached, it belongs to a pool whose size the
/// program knows, and not to one task.
static bool isKept(const ValueDecl *Handle) {
  return Handle &&
         (isa<FieldDecl>(Handle) || Handle->getType()->isArrayType() ||
          Handle->getType()->isAnyPointerType());
}

void ThreadPerTaskCheck::inspect(const SyncModel &Model,
                                 const ASTContext &Context) {
  for (const FunctionSync &F : Model.functions())
    for (const SyncSite &Create : F.Syncs) {
      const Stmt *Loop = Create.Kind == SyncKind::CreateThread
                             ? innermostLoop(Create.Parents)
                             : nullptr;
      if (!Loop)
        continue;
      // Threads that one loop creates and another loop joins are a pool, and so
      // are detached threads whose handles are stored. The thread of a task is
      // joined or detached in the same iteration.
      bool Ends = false;
      for (const SyncSite &S : F.Syncs) {
        if (innermostLoop(S.Parents) != Loop)
          continue;
        bool IsSame = S.Object == Create.Object;
        Ends |=
            S.Kind == SyncKind::Accept ||
            (S.Kind == SyncKind::Detach && IsSame && !isKept(Create.Object)) ||
            (S.Kind == SyncKind::Join && IsSame && S.Object);
      }
      if (!Ends || !claim(Create.Site->getExprLoc(), F.Function, Context))
        continue;
      report(
          *Create.Site, *Loop, *F.Function,
          "loop creates a thread for each task",
          "keep a pool of as many threads as there are CPUs, such as oneTBB's",
          "creating and ending a thread wakes others, and the release of its "
          "stack interrupts every CPU of the process");
    }
}

} // namespace vfriendly::tidy
