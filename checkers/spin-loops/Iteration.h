//===- Iteration.h - What an iteration contains -----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Iteration Of(Loop.Shape, Function, Escaping);
//   for (const Hint &H : Of.Hints) ...
//
// Lists the parts of an iteration that a report names or a fix-it edits. That
// the loop is a wait is known already; this file decides nothing about it.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_ITERATION_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_ITERATION_H

#include "checkers/common/AtomicOps.h"
#include "checkers/common/Places.h"
#include "checkers/common/WaitNeutral.h"
#include "checkers/spin-loops/LoopShape.h"

#include "llvm/ADT/SetVector.h"

#include <deque>
#include <optional>

namespace vfriendly::tidy {

/// The loop ends if Condition has the value Holds.
struct Exit {
  const clang::Expr *Condition = nullptr;
  bool Holds = false;
};

/// A read-modify-write, which has no effect if it fails, or a read by inline
/// assembly.
struct Rmw {
  AtomicOp Op;
  const clang::Stmt *Site;
  const Frame *In;
};

struct Hint {
  CallEffect Effect;
  const clang::Stmt *Site;
  const Frame *In;
};

class Iteration {
public:
  Iteration(const LoopShape &Shape, const clang::FunctionDecl &Function,
            Escapes &Escaping);
  Iteration(const Iteration &) = delete;

  const clang::ASTContext &Context;
  Escapes &Escaping;
  /// The ways out of the loop. One that is not a simple condition in the loop's
  /// head or body is nullopt.
  llvm::SmallVector<std::optional<Exit>, 2> Exits;
  /// The local variables of the loop's function that an iteration assigns to.
  llvm::SmallSetVector<const clang::VarDecl *, 2> Written;
  /// Those of the loop's function and of the small functions that it calls.
  std::deque<Rmw> Rmws;
  llvm::SmallVector<Hint, 2> Hints;
  llvm::DenseMap<std::pair<const clang::Expr *, const Frame *>, const Frame *>
      Calls;
  /// True if the loop calls the runtime's wait already, as after a fix.
  bool CallsRuntime = false;

  const Frame *root() const { return &Frames.front(); }
  const Rmw *findRmw(const clang::Stmt *Site, const Frame *In) const;
  /// Returns true if the expression is a spin hint, or is a call of a small
  /// function that contains one.
  bool isHintCall(const clang::Stmt *S) const;

private:
  void visit(const clang::Stmt *S, const Frame *In);
  void visitCall(const clang::CallExpr &Call, const Frame *In);
  void visitAsm(const clang::GCCAsmStmt &Asm, const Frame *In);
  void visitStore(const clang::Expr *LValue, const Frame *In);
  const Frame *enter(const clang::CallExpr &Call, const Frame *In);
  void findExits(const clang::Stmt *S, bool BreakLeaves);

  const LoopShape &Shape;
  std::deque<Frame> Frames; ///< The first is the loop's own function.
  unsigned Budget;
};

} // namespace vfriendly::tidy

#endif
