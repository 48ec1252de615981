//===- SpinlockCheck.cpp - vfriendly-blocking-sync-spinlock ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

using namespace clang;

namespace vfriendly::tidy {

void SpinlockCheck::inspect(const SyncModel &Model, const ASTContext &Context) {
  llvm::DenseSet<const ValueDecl *> Told;
  for (const FunctionSync &F : Model.functions())
    for (const SyncSite &Lock : F.Syncs) {
      // Reports each lock only once, because the remedy is another type of
      // lock.
      if (Lock.Kind != SyncKind::SpinLock ||
          isa_and_nonnull<ParmVarDecl>(Lock.Object) ||
          (Lock.Object && !Told.insert(Lock.Object).second) ||
          !claim(Lock.Site->getExprLoc(), F.Function, Context))
        continue;
      report(*Lock.Site, *Lock.Site, *F.Function,
             "takes " + nameOf(Lock.Object) + " by polling",
             "use a mutex that spins then blocks, such as vf_mutex",
             "waiters keep their vCPUs busy while the holder's is away");
    }
}

} // namespace vfriendly::tidy
