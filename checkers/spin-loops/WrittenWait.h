//===- WrittenWait.h - A wait, as a report and a fix-it need it -*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LoweredWaits.h finds waits in LLVM IR. This file describes them in terms of
// the AST, which has the names and the text to edit.
//
//   WrittenWait Spin(Loop, Wait, Function, Escaping);
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_WRITTENWAIT_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_WRITTENWAIT_H

#include "checkers/spin-loops/Iteration.h"
#include "checkers/spin-loops/LoweredWaits.h"

namespace vfriendly::tidy {

/// An access whose value decides whether the wait is over.
struct WrittenPoll {
  /// The expression that reads: a load, a call, a read-modify-write. Null if it
  /// was not found in the source.
  const clang::Expr *Access = nullptr;
  const Frame *In = nullptr;
  /// The object that the access reads; LValue is null for a lock of a library.
  Place At;
  clang::QualType Type;
  bool Volatile = false, Atomic = false;
  const Rmw *Tries = nullptr;
  const clang::FunctionDecl *TryLock = nullptr;
  /// The call that Access makes, if the body of its callee is not fully
  /// visible; else null.
  const clang::CallExpr *Unseen = nullptr;

  bool isPlain() const {
    return !Volatile && !Atomic && !Tries && !TryLock && !Unseen;
  }
};

class WrittenWait : public WaitFacts {
public:
  /// Describes Wait, which the loop Loop of Function is a part of.
  WrittenWait(const WrittenLoop &Loop, const LoweredWait &Wait,
              const clang::FunctionDecl &Function, Escapes &Escaping);

  const WrittenLoop &Loop;
  const LoopShape &Shape;
  /// The polls on which the waiting exits depend; the report names the first.
  llvm::SmallVector<WrittenPoll, 2> Polls;
  /// The read-modify-writes by which the outer loop tries to take the lock that
  /// this loop waits for.
  llvm::SmallVector<const clang::Stmt *, 2> OuterTries;
  /// True if an inner loop also waits, without a bound. The fix belongs to it.
  bool HoldsWait = false;
  /// True if it polls a device register, which no thread writes.
  bool IsDevice = false;
  /// True if the source shows that an iteration does more than poll.
  bool IsWork = false;
  Iteration Does;

  bool isPlain() const;
  bool handsOverInOrder() const {
    return Kind == SpinKind::Ticket || Kind == SpinKind::Queue;
  }
  /// Returns the poll of the object, if the loop polls only one; if the loop
  /// both reads this object and tries to change it, the read. Returns null if
  /// the loop polls several objects, or if the source cannot name the object.
  const WrittenPoll *uniquePoll() const;
};

/// Returns true if the text of the loop contains Place.
bool contains(const LoopShape &Shape, const LoweredPlace &Place,
              const clang::SourceManager &SM);

} // namespace vfriendly::tidy

#endif
