//===- LoopFacts.h - What a loop does in one iteration ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   LoopFacts Facts(Context);
//   if (!collectFacts(Shape, Facts)) ... it does something others could miss
//
// The first of two steps: everything a loop does in an iteration that stays in
// it, small functions included, and its exits with the conditions in front of
// them. The second (Causes.h) asks what those conditions depend on.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_LOOPFACTS_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_LOOPFACTS_H

#include "checkers/common/AtomicOps.h"
#include "checkers/common/Places.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/Stmt.h"
#include "llvm/ADT/DenseSet.h"
#include <deque>

namespace vfriendly::tidy {

/// A loop as written: a loop statement, or a label and the goto back to it.
struct LoopShape {
  const clang::Stmt *Statement = nullptr; ///< The loop; the goto.
  const clang::Expr *Condition = nullptr;
  const clang::Expr *Increment = nullptr;
  /// The body; for a goto loop the statements from the label to the goto.
  llvm::SmallVector<const clang::Stmt *, 1> Body;
  const clang::LabelDecl *Head = nullptr;
  bool TestsLast = false;
  clang::SourceLocation HeadEnd; ///< The last token before the body.

  clang::SourceLocation keyword() const { return Statement->getBeginLoc(); }
  const clang::GotoStmt *backJump() const {
    return llvm::dyn_cast<clang::GotoStmt>(Statement);
  }
};

/// The shape of a loop statement; of anything else, one without a statement.
LoopShape shapeOf(const clang::Stmt *S);

struct Guard {
  const clang::Expr *Condition;
  const Frame *In;
  bool Holds;
};
using Guards = llvm::SmallVector<Guard, 2>;

/// One write of a local variable within the loop.
struct Write {
  enum Source {
    Value,
    Itself,
    Clock,
    ReadModifyWrite, ///< What one returns, which tells success.
    Observed         ///< What a failed one saw.
  } From;
  const clang::Expr *Assigned = nullptr;
  const Frame *In = nullptr;
  unsigned RmwIndex = 0;
  Guards Under = {};
  /// Done once in every iteration, whatever else it does.
  bool EachIteration = false;
};

/// A read-modify-write that has no effect when it fails, or a read that inline
/// assembly does.
struct Rmw {
  AtomicOp Op;
  const clang::Stmt *Site;
  const Frame *In;
  /// What inline assembly reads besides the object.
  llvm::SmallVector<const clang::Expr *, 2> Inputs;
};

struct Hint {
  CallEffect Effect;
  const clang::Stmt *Site;
  const Frame *In;
};

/// Something that a wait does not do, unless the loop says by other means that
/// it waits: Doubts.h decides. Recording one costs nothing but that decision.
struct Doubt {
  enum Kind {
    Telling, ///< A call that only its name makes a pause or a delay.
    Call,    ///< Of a function that has effects or cannot be seen.
    Store,   ///< A plain store that repeating does not change.
    Count,   ///< Counts in a plain object.
    Modify,  ///< A read-modify-write that always has an effect.
    Publish, ///< Writes an atomic or volatile object.
    Other
  } What;
  const clang::Stmt *Site;
  const Frame *In;
  Guards Under;
  /// What Modify changes, or what a Store, Count or Publish names.
  const clang::Expr *LValue = nullptr;
  unsigned RmwIndex = 0;
  /// What Publish writes; and is LValue a pointer to where?
  const clang::Expr *Said = nullptr;
  bool ByPointer = false;
};

/// What was found out about whole functions, kept for all loops of a file.
struct FunctionFacts {
  Escapes Escaping;
  /// Functions that call something unseen, wherever they are called from.
  llvm::DenseSet<const clang::FunctionDecl *> CallsUnseen;
};

struct LoopFacts {
  const clang::ASTContext &Context;
  FunctionFacts &Functions;
  clang::SourceLocation
      Begin; ///< Variables from before it last for all iterations.
  std::deque<Frame> Frames; ///< The first is the loop's own function.
  llvm::SmallVector<Guards, 2> Exits;
  llvm::DenseMap<std::pair<const clang::VarDecl *, const Frame *>,
                 llvm::SmallVector<Write, 1>>
      Writes;
  llvm::SmallVector<Rmw, 1> Rmws;
  llvm::SmallVector<Hint, 2> Hints;
  llvm::DenseMap<std::pair<const clang::Expr *, const Frame *>, const Frame *>
      Calls;
  llvm::SmallVector<Doubt, 1> Doubts;
  /// Calls among them, whose results may be what the loop waits for.
  llvm::DenseSet<std::pair<const clang::Expr *, const Frame *>> Unseen;
  /// What inner loops decide by: polls there are reads between tries.
  llvm::SmallVector<std::pair<const clang::Expr *, const Frame *>, 1>
      InnerConditions;
  bool HasInnerLoop = false;

  LoopFacts(const clang::ASTContext &Context, FunctionFacts &Functions)
      : Context(Context), Functions(Functions) {}
  const Frame *root() const { return &Frames.front(); }
};

/// Returns false, and leaves Facts incomplete, if the loop does something that
/// others could miss or that cannot be told.
bool collectFacts(const LoopShape &Shape, const clang::FunctionDecl &Function,
                  LoopFacts &Facts);

} // namespace vfriendly::tidy

#endif
