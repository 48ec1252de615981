//===- ParallelIteration.h - One iteration of a parallel loop ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a statement of a parallel loop shares with other threads, and how much
// of an iteration it is.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKING_SYNC_PARALLELITERATION_H
#define VFRIENDLY_CHECKERS_BLOCKING_SYNC_PARALLELITERATION_H

#include "clang/AST/ASTContext.h"
#include "clang/AST/Stmt.h"
#include "clang/AST/StmtOpenMP.h"

#include <optional>

namespace vfriendly::tidy {

/// What the threads of a team execute once in each of many iterations.
struct ParallelLoop {
  const clang::OMPExecutableDirective *Directive =
      nullptr; ///< Null for an algorithm.
  /// Directive or the lambda: what is declared in it belongs to one thread.
  const clang::Stmt *Body = nullptr;
  /// The region of the only team of threads that executes Directive; null if
  /// it is not visible, or if several teams or tasks may.
  const clang::OMPExecutableDirective *Region = nullptr;
};

/// Returns the loop of which a statement with these Parents is part of an
/// iteration; none if the threads do not repeat it.
std::optional<ParallelLoop>
parallelLoop(llvm::ArrayRef<const clang::Stmt *> Parents,
             const clang::ASTContext &Context);

/// Returns true if a statement with these Parents begins a lock that a function
/// for a part of a range, as oneTBB calls it, holds in all of its iterations.
/// Protected are the statements that run with the lock held.
bool isHeldForPart(llvm::ArrayRef<const clang::Stmt *> Parents,
                   llvm::ArrayRef<const clang::Stmt *> Protected);

/// An iteration of Loop, as far as a statement with these Parents is concerned.
class ParallelIteration {
public:
  ParallelIteration(llvm::ArrayRef<const clang::Stmt *> Parents,
                    const ParallelLoop &Loop, const clang::ASTContext &Context)
      : Parents(Parents), Loop(Loop), Context(Context) {}

  /// Returns true if E is the same object in all iterations and threads.
  bool isShared(const clang::Expr *E) const;

  /// Returns true if a condition around the update lets few iterations through:
  /// it reads the result, or chooses one thread, every so many iterations, or
  /// those in which an operation failed.
  bool isRare(const clang::Expr *Target) const;

  /// Returns true if S does nothing but set a variable of the thread, as a poll
  /// does.
  bool isRead(const clang::Stmt *S) const;

  /// Returns true if some iterations skip the update, and do not enter another
  /// critical section instead.
  bool isConditional() const;

  /// Returns true if the code of an iteration outside of critical sections is
  /// no longer than that in them: no loop, and no more calls. Operators and
  /// conversions do not count.
  bool isMostlyCritical() const;

  /// Returns true if an iteration does little except for the update: no inner
  /// loop, and no call except of functions of the system's headers.
  bool isLight() const;

private:
  /// Returns true if `if (...) ... else if (...) ...` has two or more branches,
  /// and each of them has a critical section.
  static bool entersInEachBranch(const clang::IfStmt &Chain);

  /// The body of the innermost loop, or of the lambda.
  const clang::Stmt *iteration() const;

  bool isOfThread(const clang::VarDecl &Variable) const;

  clang::SourceLocation bodyEnd() const;

  /// Returns true if each thread of a parallel region declares Variable.
  bool isInRegion(const clang::OMPExecutableDirective &Directive,
                  const clang::VarDecl &Variable) const;

  llvm::ArrayRef<const clang::Stmt *> Parents;
  ParallelLoop Loop;
  const clang::ASTContext &Context;
};

} // namespace vfriendly::tidy

#endif // VFRIENDLY_CHECKERS_BLOCKING_SYNC_PARALLELITERATION_H
