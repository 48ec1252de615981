//===- LoopFacts.h - What a loop does in one iteration ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   LoopFacts Facts(Context);
//   if (!collectFacts(Shape, Facts)) ... it has an effect that no wait has
//
// This is the first of two steps. It collects the effects of an iteration that
// does not leave the loop, including those of small callees, and the exits of
// the loop with the conditions under which they are reached. The second step
// (Causes.h) finds what those conditions depend on.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_LOOPFACTS_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_LOOPFACTS_H

#include "checkers/common/AtomicOps.h"
#include "checkers/common/Places.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/Stmt.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include <deque>

namespace vfriendly::tidy {

/// A loop as written: a loop statement, or a label and the goto back to it.
struct LoopShape {
  const clang::Stmt *Statement = nullptr; ///< The loop, or the goto.
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

/// Returns the shape of a loop statement; for another statement, a shape
/// without Statement.
LoopShape shapeOf(const clang::Stmt *S);

/// Returns the local variable that an increment advances: `++i`, `p = p->next`;
/// null if there is none. Increment may be null.
const clang::VarDecl *movedBy(const clang::Expr *Increment);

/// Returns the number of the first statement of the loop's tail if Block is the
/// loop's body, else the number of statements. The tail begins at a label to
/// which an iteration may jump forward: `again:` in
///   for (;;) { if (busy) goto again; ...; break; again: pause(); }
size_t beginOfTail(const LoopShape &Shape, const clang::CompoundStmt &Block);

struct Guard {
  const clang::Expr *Condition;
  const Frame *In;
  bool Holds;
  bool IsSwitch = false; ///< The condition of a switch, at one of its cases.
};
using Guards = llvm::SmallVector<Guard, 2>;

/// One write of a local variable within the loop.
struct Write {
  enum Source {
    Value,
    Itself,
    Clock,
    ReadModifyWrite, ///< The result of an Rmw, which indicates success.
    Observed         ///< The value that a failed Rmw found in memory.
  } From;
  const clang::Expr *Assigned = nullptr;
  const Frame *In = nullptr;
  unsigned RmwIndex = 0;
  Guards Under = {};
  /// True if the write is executed exactly once in every iteration.
  bool EachIteration = false;
};

/// A read-modify-write, which has no effect if it fails, or a read by inline
/// assembly.
struct Rmw {
  AtomicOp Op;
  const clang::Stmt *Site;
  const Frame *In;
  /// Operands that inline assembly reads in addition to the object.
  llvm::SmallVector<const clang::Expr *, 2> Inputs;
};

struct Hint {
  CallEffect Effect;
  const clang::Stmt *Site;
  const Frame *In;
};

/// A side effect that suggests that the loop is more than a wait. DoubtJudge
/// (Doubts.h) decides whether the loop's spin hints outweigh it.
struct Doubt {
  enum Kind {
    Telling, ///< A call of a function whose name alone suggests a pause.
    Call,    ///< A call of a function that has effects or is opaque.
    Store,   ///< A plain store that is idempotent.
    Count,   ///< Counts in a plain object.
    Modify,  ///< A read-modify-write that always has an effect.
    Publish, ///< Writes an atomic or volatile object.
    Other
  } What;
  const clang::Stmt *Site;
  const Frame *In;
  Guards Under;
  /// The object of Modify, Store, Count or Publish.
  const clang::Expr *LValue = nullptr;
  unsigned RmwIndex = 0;
  /// The value that Publish writes.
  const clang::Expr *Said = nullptr;
  /// True if LValue is a pointer to the object that Publish writes.
  bool ByPointer = false;
};

/// Facts about functions, kept for all loops of a file.
struct FunctionFacts {
  Escapes Escaping;
  /// Functions that contain an opaque call in every calling context.
  llvm::DenseSet<const clang::FunctionDecl *> CallsUnseen;
};

struct LoopFacts {
  const clang::ASTContext &Context;
  FunctionFacts &Functions;
  clang::SourceLocation
      Begin; ///< Variables declared before it outlive an iteration.
  std::deque<Frame> Frames; ///< The first is the loop's own function.
  llvm::SmallVector<Guards, 2> Exits;
  /// In the order of the first write. One limit of steps applies to visiting
  /// all of them, so an order by addresses would change reports between runs.
  llvm::MapVector<std::pair<const clang::VarDecl *, const Frame *>,
                  llvm::SmallVector<Write, 1>>
      Writes;
  llvm::SmallVector<Rmw, 1> Rmws;
  llvm::SmallVector<Hint, 2> Hints;
  llvm::DenseMap<std::pair<const clang::Expr *, const Frame *>, const Frame *>
      Calls;
  llvm::SmallVector<Doubt, 1> Doubts;
  /// The doubted calls whose results may be what the loop waits for.
  llvm::DenseSet<std::pair<const clang::Expr *, const Frame *>> Unseen;
  /// The conditions of inner loops. The outer loop reads the objects in these
  /// conditions between two of its own attempts.
  llvm::SmallVector<std::pair<const clang::Expr *, const Frame *>, 1>
      InnerConditions;
  bool HasInnerLoop = false;

  LoopFacts(const clang::ASTContext &Context, FunctionFacts &Functions)
      : Context(Context), Functions(Functions) {}
  const Frame *root() const { return &Frames.front(); }
};

/// Returns the value of the expression, followed through wrappers' arguments;
/// nullopt if it is not a constant of at most 64 bits, or if a parameter on the
/// way is assigned and IsReadFirst, that its value is read before, is not set.
/// Value may be null.
std::optional<uint64_t> constantOf(const clang::Expr *Value, const Frame *In,
                                   const LoopFacts &Facts,
                                   bool IsReadFirst = false);

/// Returns false, and leaves Facts incomplete, if the loop has an effect that
/// other code may depend on, or one that is unknown.
bool collectFacts(const LoopShape &Shape, const clang::FunctionDecl &Function,
                  LoopFacts &Facts);

} // namespace vfriendly::tidy

#endif
