//===- WaitTests.cpp - What decides whether a thread waits ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/WaitTests.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

SharedPlaces WaitTests::places() const {
  SharedPlaces All;
  for (const Expr *E : Conditions)
    for (const ValueDecl *Place : placesIn(E))
      All.insert(Place);
  return All;
}

std::string WaitTests::shape() const {
  std::string All;
  for (const Expr *E : Conditions)
    All += predicateShape(E);
  return All;
}

bool WaitTests::compares(const ValueDecl *A, const ValueDecl *B) const {
  return llvm::any_of(Conditions,
                      [&](const Expr *E) { return areCompared(E, A, B); });
}

bool isConditional(const Stmt *S) {
  return isa<IfStmt, SwitchStmt, WhileStmt, ForStmt, DoStmt, CXXForRangeStmt,
             ConditionalOperator>(S);
}

bool isUnderNoMoreThan(ArrayRef<const Stmt *> Inner,
                       ArrayRef<const Stmt *> Outer) {
  return llvm::all_of(Inner, [&](const Stmt *S) {
    return !isConditional(S) || llvm::is_contained(Outer, S);
  });
}

static bool isAlwaysTrue(const Expr *Condition, const ASTContext &Context) {
  bool Value = false;
  return !Condition ||
         (!Condition->isValueDependent() &&
          Condition->EvaluateAsBooleanCondition(Value, Context) && Value);
}

/// Returns the condition of an `if`, or of a loop; null for other statements.
static const Expr *conditionOf(const Stmt *S) {
  if (auto *If = dyn_cast_or_null<IfStmt>(S))
    return If->getCond();
  return loopCondition(S);
}

/// Returns the statements among Parents that are below Loop.
static ArrayRef<const Stmt *> below(const Stmt *Loop,
                                    ArrayRef<const Stmt *> Parents) {
  auto At = llvm::find(Parents, Loop);
  return At == Parents.end() ? Parents
                             : Parents.drop_front(At - Parents.begin() + 1);
}

WaitTests testsOf(const SyncSite &Wait, const ASTContext &Context) {
  WaitTests Tests;
  const SourceManager &SM = Context.getSourceManager();
  const Stmt *Loop = innermostLoop(Wait.Parents);
  const Expr *Predicate = Wait.Predicate;
  if (Predicate && !isAlwaysTrue(Predicate, Context)) {
    bool HoldsLoop =
        SM.isPointWithin(Predicate->getBeginLoc(), Wait.Site->getBeginLoc(),
                         Wait.Site->getEndLoc());
    Tests.Conditions.push_back(Predicate);
    Tests.Loop = HoldsLoop ? nullptr : Loop;
    return Tests;
  }
  auto *Body = Loop ? dyn_cast_or_null<CompoundStmt>(loopBody(Loop)) : nullptr;
  if (!Body)
    return Tests;
  Tests.Loop = Loop;
  Tests.IsEndless = true;
  for (const Stmt *S : Body->body()) {
    if (S == Wait.Site || llvm::is_contained(Wait.Parents, S))
      break;
    if (const Expr *Condition = conditionOf(S))
      Tests.Conditions.push_back(Condition);
  }
  for (const Stmt *S : below(Loop, Wait.Parents))
    if (auto *If = dyn_cast<IfStmt>(S))
      Tests.Conditions.push_back(If->getCond());
  return Tests;
}

/// Returns true if one of Statements is an `if` or a loop that tests Place, and
/// none has a condition without it.
static bool areOnlyUnderTestsOf(const ValueDecl *Place,
                                ArrayRef<const Stmt *> Statements) {
  bool Found = false;
  for (const Stmt *S : Statements)
    if (isConditional(S)) {
      const Expr *Condition = conditionOf(S);
      if (!Condition || !placesIn(Condition).contains(Place))
        return false;
      Found = true;
    }
  return Found;
}

SmallVector<PlaceWrite, 2>
takesBack(const SyncSite &Wait, const WaitTests &Tests, const PlaceWrite &Step,
          const SharedPlaces &Places, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  SmallVector<PlaceWrite, 2> Found;
  if (Tests.Loop && !Tests.places().contains(Step.Place))
    return Found;
  for (PlaceWrite &W : writesTo(Places, Wait.Function->getBody(), Context)) {
    bool Matches = W.Place == Step.Place ? (W.How == PlaceWrite::Add) !=
                                               (Step.How == PlaceWrite::Add)
                                         : Tests.compares(W.Place, Step.Place);
    if (W.How == PlaceWrite::Other || !Matches)
      continue;
    bool IsAfter = SM.isBeforeInTranslationUnit(Wait.Site->getBeginLoc(),
                                                W.Site->getBeginLoc());
    bool IsInLoop = llvm::is_contained(W.Parents, Tests.Loop);
    if (Tests.IsEndless) {
      // The next iteration tests for the item again and takes it: under that
      // test, or after an `if` that waits where there is none.
      ArrayRef<const Stmt *> Around = below(Tests.Loop, W.Parents);
      if (IsInLoop &&
          (areOnlyUnderTestsOf(Step.Place, Around) ||
           (IsAfter && llvm::none_of(Around, isConditional) &&
            areOnlyUnderTestsOf(Step.Place, below(Tests.Loop, Wait.Parents)))))
        Found.push_back(std::move(W));
      continue;
    }
    // Requires that the waiter undoes Step after Wait, outside of the loop
    // around Wait, and under no other conditions than those of Wait.
    if (IsAfter && !IsInLoop && isUnderNoMoreThan(W.Parents, Wait.Parents))
      Found.push_back(std::move(W));
  }
  return Found;
}

bool mayLeaveIt(const SyncSite &Wait, const WaitTests &Tests,
                const PlaceWrite &Step, ArrayRef<PlaceWrite> Undone,
                const SharedPlaces &Places, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  auto IsBefore = [&](SourceLocation A, SourceLocation B) {
    return SM.isBeforeInTranslationUnit(A, B);
  };
  SourceLocation Begin = Wait.Site->getBeginLoc(), End;
  for (const PlaceWrite &W :
       writesTo(Places, Wait.Function->getBody(), Context))
    if (IsBefore(Begin, W.Site->getBeginLoc()))
      End = End.isValid() ? End : W.Site->getBeginLoc();
  // An iteration of an endless loop goes from the wait to the end of the loop,
  // and from its beginning to where it takes the item.
  SourceLocation First;
  if (Tests.IsEndless)
    for (const PlaceWrite &W : Undone)
      if (First.isInvalid() || IsBefore(W.Site->getBeginLoc(), First))
        First = W.Site->getBeginLoc();
  bool May = false;
  forEachStmt(Wait.Function->getBody(), [&](const Stmt *S,
                                            ArrayRef<const Stmt *> Parents) {
    if (!isa<ReturnStmt, GotoStmt, BreakStmt, ContinueStmt>(S))
      return;
    SourceLocation At = S->getBeginLoc();
    if (Tests.IsEndless) {
      // What leaves an inner loop or begins the next iteration stays.
      bool Leaves =
          llvm::is_contained(Parents, Tests.Loop) &&
          (isa<ReturnStmt, GotoStmt>(S) ||
           (isa<BreakStmt>(S) && innermostLoop(Parents) == Tests.Loop));
      if (!Leaves || (!IsBefore(Begin, At) && !IsBefore(At, First)))
        return;
    } else if (!IsBefore(Begin, At) || (End.isValid() && !IsBefore(At, End))) {
      return;
    }
    const IfStmt *Around = nullptr;
    for (const Stmt *P : Parents)
      if (auto *If = dyn_cast<IfStmt>(P))
        Around = If;
    May |= !Around || !placesIn(Around->getCond()).contains(Step.Place);
  });
  return May;
}

} // namespace vfriendly::tidy
