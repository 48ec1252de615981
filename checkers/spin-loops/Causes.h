//===- Causes.h - What an exit of a loop depends on -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   CauseFinder Finder(Facts);
//   Causes C = Finder.causesOf(Condition, Facts.root());
//   if (C.onlyOthers()) ... only another thread can change the outcome
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_CAUSES_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_CAUSES_H

#include "checkers/spin-loops/LoopFacts.h"

#include <optional>

namespace vfriendly::tidy {

/// An access whose value decides whether the wait is over.
struct Poll {
  /// The expression that reads: a load, a call, a read-modify-write.
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

/// What a value or a condition in the loop depends on.
struct Causes {
  llvm::SmallVector<Poll, 2> Polls;
  bool Own = false; ///< The loop's own progress: counters and its variables.
  bool Clock = false;
  bool Walks =
      false; ///< Memory whose address changes from iteration to iteration.
  /// True if the condition can become true without another thread: a
  /// compare-and-swap that expects the value just read, or a version number
  /// that has not changed.
  bool AtOnce = false;
  bool Device = false;

  bool onlyOthers() const {
    return !Polls.empty() && !Own && !Clock && !Walks && !AtOnce;
  }
  bool none() const {
    return Polls.empty() && !Own && !Clock && !Walks && !AtOnce && !Device;
  }
  void add(const Causes &C);
};

class CauseFinder {
public:
  /// If Rescans is set, values that begin anew in each iteration, such as the
  /// index of an inner loop or a sum over all threads, do not count as progress
  /// of the loop.
  explicit CauseFinder(const LoopFacts &Facts, bool Rescans = false)
      : Facts(Facts), Rescans(Rescans) {}

  Causes causesOf(const clang::Expr *E, const Frame *In);
  /// Returns the causes that decide whether a read-modify-write succeeds.
  Causes causesOf(const Rmw &R);

private:
  Causes ofChildren(const clang::Stmt *S, const Frame *In);
  Causes ofAddress(const clang::Expr *LValue, const Frame *In);
  Causes ofRead(const clang::Expr *Access, const clang::Expr *LValue,
                const Frame *In);
  Causes ofVariable(const clang::Expr *Access, const Place &P);
  Causes ofAccess(const clang::Expr *Access, const clang::Expr *Object,
                  bool IsPointer, const Frame *In, bool IsMemory = false);
  Causes ofAtomic(const clang::Expr *E, const AtomicOp &Op, const Frame *In);
  Causes ofCall(const clang::CallExpr &Call, const Frame *In);
  Causes ofUnseen(const clang::CallExpr &Call, const Frame *In);
  Causes ofComparison(const clang::BinaryOperator &Op, const Frame *In);
  Causes ofExpected(const Rmw &R);
  Causes ofExpectedValue(const clang::Expr *Expected, const Frame *In,
                         const Rmw &R);
  Causes ofGuards(const Guards &Under);
  bool mayBeShared(const clang::VarDecl &Variable);

  const LoopFacts &Facts;
  const bool Rescans;
  /// Variables and calls being examined. If one of them is reached again, its
  /// value depends on its own previous value.
  llvm::SmallPtrSet<const void *, 8> Open;
  /// Read-modify-writes being examined, each with the value that Lasting had
  /// when the examination began. If Lasting is greater when the same
  /// read-modify-write is reached again, a variable has kept the result from
  /// one iteration to the next.
  llvm::SmallVector<std::pair<const Rmw *, unsigned>, 2> Tried;
  /// Number of variables, among those in Open, that keep their value from
  /// iteration to iteration.
  unsigned Lasting = 0;
  unsigned Budget = 2000;
};

} // namespace vfriendly::tidy

#endif
