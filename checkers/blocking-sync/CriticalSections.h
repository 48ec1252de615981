//===- CriticalSections.h - What runs while a lock is held ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A critical section is what lies on a path from where a function takes a lock
// to where it releases the same lock:
//
//   take(l);           A
//   if (error) {       A  in the section
//     log();           B  not in it: no release follows
//     abort();
//   }
//   release(l);        A
//
//   if (trylock(l)) {
//     work();          A
//     release(l);
//   } else
//     log();           B  not taken here
//
// If a function takes a lock and releases it nowhere, its caller does: then the
// section is what follows until it returns.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_CRITICALSECTIONS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_CRITICALSECTIONS_H

#include "checkers/blocking-sync/SpinLocks.h"

#include "clang/Analysis/CFG.h"

namespace vfriendly::tidy {

/// The critical sections of one function.
class FunctionSections {
public:
  FunctionSections(const FunctionSync &F, std::vector<SpinSite> Found,
                   const clang::ASTContext &Context);

  llvm::ArrayRef<SpinSite> sites() const { return Sites; }

  /// Returns the statements and expressions of the section that begins at Take,
  /// in no particular order.
  std::vector<const clang::Stmt *> from(const SpinSite &Take) {
    return Take.IsGuard ? ofGuard(Take) : ofCall(Take);
  }

  /// Returns true if Loop releases the lock of Take on the way: its section is
  /// one iteration.
  bool releasesIn(const clang::Stmt &Loop, const SpinSite &Take) const;

  /// Returns the site that S is, or to whose macro it belongs; else null.
  const SpinSite *siteOf(const clang::Stmt *S) const {
    return ByStmt.lookup(S);
  }

private:
  std::vector<const clang::Stmt *> ofGuard(const SpinSite &Take);
  std::vector<const clang::Stmt *> ofCall(const SpinSite &Take);
  bool releases(const clang::Stmt *S, const SpinSite &Take) const {
    const SpinSite *Site = siteOf(S);
    return Site && Site->Op == SpinOp::Release && Site->Object == Take.Object;
  }
  /// Returns true if S takes the lock of Take: before, it was not held.
  bool takesAgain(const clang::Stmt *S, const SpinSite &Take) const;
  /// Returns true if the caller of the function releases the lock of Take.
  bool staysHeld(const SpinSite &Take) const;

  const FunctionSync &F;
  const clang::ASTContext &Context;
  std::vector<SpinSite> Sites;
  llvm::DenseMap<const clang::Stmt *, const SpinSite *> ByStmt;
  std::unique_ptr<clang::CFG> Graph;
};

} // namespace vfriendly::tidy

#endif
