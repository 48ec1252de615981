//===- LoopShape.h - A loop as it is written --------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_LOOPSHAPE_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_LOOPSHAPE_H

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "clang/AST/Stmt.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

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
  clang::SourceRange range() const {
    return {backJump() ? Body.front()->getBeginLoc() : keyword(),
            Statement->getEndLoc()};
  }
  /// Calls Visit for the parts that each iteration executes.
  template <typename Visitor> void forEachPart(Visitor Visit) const {
    for (const clang::Stmt *S : Body)
      Visit(S);
    if (Condition)
      Visit(Condition);
    if (Increment)
      Visit(Increment);
  }
};

/// Returns the shape of a loop statement; for another statement, a shape
/// without Statement.
LoopShape shapeOf(const clang::Stmt *S);

/// A loop and the statements around it, the outermost first.
struct WrittenLoop {
  LoopShape Shape;
  llvm::SmallVector<const clang::Stmt *, 4> Parents;
};

/// Returns the loops of a function, outer loops before inner ones. Leaves out
/// loops over ranges, and those in lambdas, which are functions of their own.
std::vector<WrittenLoop> loopsOf(const clang::FunctionDecl &Function);

/// Returns true if Is returns true for S or for a part of it. S may be null.
bool anyPart(const clang::Stmt *S,
             llvm::function_ref<bool(const clang::Stmt *)> Is);
/// Returns true if S names D.
bool names(const clang::Stmt *S, const clang::ValueDecl &D);
/// Returns true if S has a `continue` that is in no loop inside S.
bool hasContinue(const clang::Stmt *S);

/// Returns the local variable that an increment advances: `++i`, `p = p->next`;
/// null if there is none. Increment may be null.
const clang::VarDecl *movedBy(const clang::Expr *Increment);

/// Returns true for loops like `for (i = 0; i < n; ++i)` or `for (p = list; p;
/// p = p->next)` without other exits, which no other thread can end.
bool onlyWalks(const LoopShape &Shape);

} // namespace vfriendly::tidy

#endif
