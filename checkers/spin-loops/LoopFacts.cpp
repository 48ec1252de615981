//===- LoopFacts.cpp - What a loop does in one iteration ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Examines one iteration, in the loop's function and its callees, and stops at
// the first effect that a wait cannot have, so that the check is fast.
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/LoopFacts.h"
#include "checkers/spin-loops/IterationWalker.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

LoopShape shapeOf(const Stmt *S) {
  LoopShape Shape;
  if (auto *While = dyn_cast<WhileStmt>(S)) {
    Shape.Condition = While->getCond();
    Shape.Body.push_back(While->getBody());
    Shape.HeadEnd = While->getRParenLoc();
    if (While->getConditionVariable())
      return {}; // A loop that declares a variable does more than wait.
  } else if (auto *For = dyn_cast<ForStmt>(S)) {
    Shape.Condition = For->getCond();
    Shape.Increment = For->getInc();
    Shape.Body.push_back(For->getBody());
    Shape.HeadEnd = For->getRParenLoc();
    if (For->getConditionVariable())
      return {};
  } else if (auto *Do = dyn_cast<DoStmt>(S)) {
    Shape.Condition = Do->getCond();
    Shape.Body.push_back(Do->getBody());
    Shape.HeadEnd = Do->getDoLoc();
    Shape.TestsLast = true;
  } else {
    return Shape;
  }
  Shape.Statement = S;
  return Shape;
}

/// Returns true if control may leave S other than by its end. If BreakStays is
/// set, a break leaves only a statement inside S.
static bool hasWayOut(const Stmt *S, bool BreakStays) {
  if (!S || isLeaf(S))
    return false;
  if (isa<ReturnStmt, GotoStmt, IndirectGotoStmt, AsmStmt, CXXThrowExpr,
          CoreturnStmt, CoroutineSuspendExpr>(S))
    return true;
  if (isa<BreakStmt>(S))
    return !BreakStays;
  BreakStays |= isa<WhileStmt, ForStmt, DoStmt, CXXForRangeStmt, SwitchStmt>(S);
  return llvm::any_of(S->children(), [&](const Stmt *Child) {
    return hasWayOut(Child, BreakStays);
  });
}

static bool names(const Stmt *S, const VarDecl *Variable) {
  if (auto *Ref = dyn_cast_or_null<DeclRefExpr>(S))
    return Ref->getDecl() == Variable;
  return S && llvm::any_of(S->children(), [&](const Stmt *Child) {
           return names(Child, Variable);
         });
}

const VarDecl *movedBy(const Expr *Increment) {
  const Expr *E = Increment ? Increment->IgnoreParens() : nullptr;
  const Expr *Moved = nullptr, *From = nullptr;
  if (auto *Op = dyn_cast_or_null<UnaryOperator>(E);
      Op && Op->isIncrementDecrementOp())
    Moved = From = Op->getSubExpr();
  else if (auto *Op = dyn_cast_or_null<BinaryOperator>(E);
           Op && Op->isAssignmentOp()) {
    Moved = Op->getLHS();
    From = Op->isCompoundAssignmentOp() ? Moved : Op->getRHS();
  }
  auto *Ref = Moved ? dyn_cast<DeclRefExpr>(Moved->IgnoreParens()) : nullptr;
  auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  return Variable && Variable->hasLocalStorage() &&
                 Variable->getType()->isScalarType() && names(From, Variable)
             ? Variable
             : nullptr;
}

/// Returns true for a test without calls.
static bool isSimple(const Stmt *S) {
  if (isa<CallExpr, AtomicExpr, StmtExpr, CXXConstructExpr, LambdaExpr>(S))
    return false;
  if (auto *Op = dyn_cast<BinaryOperator>(S);
      Op && (Op->isLogicalOp() || Op->isAssignmentOp() || Op->isCommaOp()))
    return false;
  return llvm::all_of(S->children(), [](const Stmt *Child) {
    return Child && isSimple(Child);
  });
}

/// Returns true for loops like `for (i = 0; i < n; ++i)` or `for (p = list; p;
/// p = p->next)` without other exits, which no other thread can end. These are
/// most loops; a visit of all statements has the same result and costs more.
static bool onlyWalks(const LoopShape &Shape) {
  const VarDecl *Moved = movedBy(Shape.Increment);
  return Moved && Shape.Condition && isSimple(Shape.Condition) &&
         names(Shape.Condition, Moved) &&
         !hasWayOut(Shape.Body.front(), /*BreakStays=*/false);
}

bool collectFacts(const LoopShape &Shape, const FunctionDecl &Function,
                  LoopFacts &Facts) {
  if (onlyWalks(Shape))
    return false;
  Facts.Frames.emplace_back();
  Facts.Frames.back().Function = &Function;
  Facts.Begin =
      Shape.backJump() ? Shape.Body.front()->getBeginLoc() : Shape.keyword();
  IterationWalker Walker(Shape, Facts);
  return Walker.walkIteration();
}

} // namespace vfriendly::tidy
