//===- WaitTests.h - What decides whether a thread waits --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests that a thread makes before it waits and after it was woken, and
// whether it takes what it was woken for.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_WAITTESTS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_WAITTESTS_H

#include "checkers/blocking-sync/Predicates.h"
#include "checkers/common/SyncModel.h"

namespace vfriendly::tidy {

/// The conditions that decide whether a thread waits, and the loop that tests
/// them again after a wake-up.
struct WaitTests {
  /// Empty if they are not known.
  llvm::SmallVector<const clang::Expr *, 4> Conditions;
  /// Null for C++'s wait(lock, predicate), which contains a loop of its own.
  const clang::Stmt *Loop = nullptr;
  /// The loop has no condition: it tests for work and for its end by itself, as
  /// in `for (;;) { while (!q.empty()) take(); if (stop) break; wait(l); }`.
  bool IsEndless = false;

  /// Returns the places that the conditions read.
  SharedPlaces places() const;
  /// Returns text that is equal for tests of the same properties.
  std::string shape() const;
  /// Returns true if one comparison reads both places.
  bool compares(const clang::ValueDecl *A, const clang::ValueDecl *B) const;
};

WaitTests testsOf(const SyncSite &Wait, const clang::ASTContext &Context);

/// Returns true for a statement whose parts are not executed each time.
bool isConditional(const clang::Stmt *S);

/// Inner and Outer are the statements around two calls or writes. Returns true
/// if the first is executed whenever the second is: each conditional statement
/// in Inner is in Outer too.
bool isUnderNoMoreThan(llvm::ArrayRef<const clang::Stmt *> Inner,
                       llvm::ArrayRef<const clang::Stmt *> Outer);

/// Returns the writes by which the waiter always undoes Step, the notifier's
/// write to one of Places, after Wait: the waiter takes the item that the
/// notifier has put.
llvm::SmallVector<PlaceWrite, 2>
takesBack(const SyncSite &Wait, const WaitTests &Tests, const PlaceWrite &Step,
          const SharedPlaces &Places, const clang::ASTContext &Context);

/// Returns true if the waiter may jump or return after Wait without undoing
/// Step, the notifier's write, by one of Undone. A jump or return in an `if`
/// that tests the variable of Step is accepted: there the waiter has found no
/// item to take.
bool mayLeaveIt(const SyncSite &Wait, const WaitTests &Tests,
                const PlaceWrite &Step, llvm::ArrayRef<PlaceWrite> Undone,
                const SharedPlaces &Places, const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
