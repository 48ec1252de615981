//===- IterationHints.cpp - Spin hints of every iteration -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/IterationHints.h"

#include "checkers/spin-loops/SpinLoop.h"
#include "passes/common/TellingNames.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

/// Computes the spin hints that all paths of an iteration give, by following
/// each path. A path that cannot be followed counts as one without hints.
class PathFollower {
public:
  enum : unsigned { Any = 1, Pauses = 2, Waits = 4, Retries = 8, All = 15 };

  PathFollower(const LoopShape &Shape, const LoopFacts &Facts,
               ArrayRef<const Rmw *> AtOnce)
      : Shape(Shape), Facts(Facts), AtOnce(AtOnce) {}

  unsigned followIteration() {
    unsigned Falls = 0;
    bool Goes = true;
    for (const Stmt *S : Shape.Body)
      if (Goes)
        Goes = follow(S, Falls, Facts.root());
    // After the end of the body follows another iteration, except in a goto
    // loop, which only its gotos repeat.
    if (Goes && !Shape.backJump())
      Repeating &= Falls;
    return Repeating | inExpr(Shape.Condition, Facts.root()) |
           inExpr(Shape.Increment, Facts.root());
  }

private:
  /// Adds to Given the hints on all paths through S; returns false if no path
  /// reaches its end.
  bool follow(const Stmt *S, unsigned &Given, const Frame *In);
  bool followIf(const IfStmt &If, unsigned &Given, const Frame *In);
  bool backsOff(const IfStmt &If, bool Holds, const Frame *In);
  unsigned inExpr(const Stmt *E, const Frame *In);
  unsigned inCallee(const Frame &Callee);
  unsigned inLoop(const LoopShape &Inner, const Frame *In);

  const LoopShape &Shape;
  const LoopFacts &Facts;
  ArrayRef<const Rmw *> AtOnce;
  /// Hints on all paths to another iteration.
  unsigned Repeating = All;
  /// Hints on all paths to a return of the current callee.
  unsigned Returning = All;
  /// Depth of inner loops; in them, `continue` does not repeat the outer loop.
  unsigned Nested = 0;
};

unsigned PathFollower::inCallee(const Frame &Callee) {
  unsigned Saved = Returning, Given = 0;
  Returning = All;
  ++Nested;
  bool Falls = follow(Callee.Function->getBody(), Given, &Callee);
  --Nested;
  Given = Falls ? Returning & Given : Returning;
  Returning = Saved;
  // Drops Waits: if only a callee waits, a loop that retries a lock-free update
  // is still no wait.
  return Given & (Any | Pauses | Retries);
}

unsigned PathFollower::inExpr(const Stmt *S, const Frame *In) {
  if (!S)
    return 0;
  unsigned Given = 0;
  for (const Hint &H : Facts.Hints)
    if (H.Site == S && H.In == In)
      Given |= H.Effect == CallEffect::Sleep ? Any : Any | Pauses;
  for (const Rmw *R : AtOnce)
    if (R->Site == S && R->In == In)
      Given |= Retries;
  if (auto *Op = dyn_cast<BinaryOperator>(S); Op && Op->isLogicalOp())
    return Given | inExpr(Op->getLHS(), In);
  if (auto *Either = dyn_cast<AbstractConditionalOperator>(S))
    return Given | inExpr(Either->getCond(), In) |
           (inExpr(Either->getTrueExpr(), In) &
            inExpr(Either->getFalseExpr(), In));
  if (isa<LambdaExpr, UnaryExprOrTypeTraitExpr>(S))
    return Given;
  if (auto *Statements = dyn_cast<StmtExpr>(S)) {
    follow(Statements->getSubStmt(), Given, In);
    return Given;
  }
  for (const Stmt *Child : S->children())
    Given |= inExpr(Child, In);
  if (auto *Call = dyn_cast<CallExpr>(S))
    if (const Frame *Callee = Facts.Calls.lookup({Call, In}))
      Given |= inCallee(*Callee);
  return Given;
}

unsigned PathFollower::inLoop(const LoopShape &Inner, const Frame *In) {
  // An inner loop that waits counts as a hint, but not as a pause: the outer
  // loop may wait for each of several objects in turn.
  if (judgeLoop(Inner, *In->Function, Facts.Functions))
    return In == Facts.root() ? Any | Waits : unsigned(Any);
  unsigned Given = inExpr(Inner.Condition, In), Body = 0;
  // Counts the pauses in the inner loop, although it may have no iteration: in
  // the first attempts, the pause loop of a back-off has none.
  ++Nested;
  follow(Inner.Body.front(), Body, In);
  --Nested;
  return Given | Body;
}

/// Returns true if the branch of If for the value Holds is a step of a back-off
/// that a counter selects: in the first iterations this branch gives no hint,
/// or after a number of hints this branch blocks. The condition must compare
/// the counter with a limit; a hint in every nth iteration is not accepted.
bool PathFollower::backsOff(const IfStmt &If, bool Holds, const Frame *In) {
  auto *Limit = dyn_cast<BinaryOperator>(If.getCond()->IgnoreParenImpCasts());
  if (!Limit || !Limit->isRelationalOp())
    return false;
  Causes C = CauseFinder(Facts).causesOf(Limit, In);
  if (!C.Own || C.Clock || C.Walks || C.AtOnce || C.Device || !C.Polls.empty())
    return false;
  bool Blocks = false, Works = false;
  for (const Doubt &D : Facts.Doubts)
    if (D.What != Doubt::Telling && llvm::any_of(D.Under, [&](const Guard &G) {
          return G.Condition == If.getCond() && G.Holds == Holds;
        })) {
      auto *Call = dyn_cast<CallExpr>(D.Site);
      auto *Callee =
          Call ? dyn_cast_or_null<NamedDecl>(Call->getCalleeDecl()) : nullptr;
      Blocks |=
          Callee && Callee->getIdentifier() && namesBlocking(Callee->getName());
      Works = true;
    }
  return Blocks || !Works;
}

bool PathFollower::followIf(const IfStmt &If, unsigned &Given,
                            const Frame *In) {
  Given |= inExpr(If.getCond(), In);
  bool Value;
  if (!If.getCond()->isValueDependent() &&
      If.getCond()->EvaluateAsBooleanCondition(Value, Facts.Context)) {
    const Stmt *Taken = Value ? If.getThen() : If.getElse();
    return !Taken || follow(Taken, Given, In);
  }
  unsigned Then = Given, Else = Given;
  bool ThenFalls = follow(If.getThen(), Then, In);
  bool ElseFalls = !If.getElse() || follow(If.getElse(), Else, In);
  // If only one branch gives a hint, the other may be a step of a back-off.
  unsigned OnlyThen = Then & ~Else & (Any | Pauses),
           OnlyElse = Else & ~Then & (Any | Pauses);
  if (ThenFalls && ElseFalls && !OnlyThen != !OnlyElse &&
      backsOff(If, /*Holds=*/!OnlyThen, In))
    (OnlyThen ? Else : Then) |= OnlyThen | OnlyElse;
  Given = (ThenFalls ? Then : All) & (ElseFalls ? Else : All);
  return ThenFalls || ElseFalls;
}

bool PathFollower::follow(const Stmt *S, unsigned &Given, const Frame *In) {
  if (!S)
    return true;
  if (auto *Block = dyn_cast<CompoundStmt>(S)) {
    const unsigned Before = Given;
    const size_t Size = Block->size(), Tail = beginOfTail(Shape, *Block);
    for (size_t I = 0; I != Size; ++I) {
      if (I == Tail) // Any goto may lead here.
        Given = Before;
      if (follow(Block->body_begin()[I], Given, In))
        continue;
      if (I >= Tail || Tail == Size)
        return false;
      I = Tail - 1;
    }
    return true;
  }
  if (auto *If = dyn_cast<IfStmt>(S))
    return followIf(*If, Given, In);
  if (auto *Label = dyn_cast<LabelStmt>(S))
    return follow(Label->getSubStmt(), Given, In);
  if (auto *Attributed = dyn_cast<AttributedStmt>(S))
    return follow(Attributed->getSubStmt(), Given, In);
  if (isa<ContinueStmt>(S)) {
    if (Nested == 0)
      Repeating &= Given;
    return false;
  }
  if (auto *Goto = dyn_cast<GotoStmt>(S)) {
    if (Goto->getLabel() == Shape.Head)
      Repeating &= Given;
    return false;
  }
  if (auto *Return = dyn_cast<ReturnStmt>(S)) {
    Returning &= Given | inExpr(Return->getRetValue(), In);
    return false;
  }
  // A break ends this path. The break leaves either the whole loop, or an inner
  // loop or switch; after the latter, follow continues in any case.
  if (isa<BreakStmt>(S))
    return false;
  if (LoopShape Inner = shapeOf(S); Inner.Statement) {
    if (auto *For = dyn_cast<ForStmt>(S))
      follow(For->getInit(), Given, In);
    Given |= inLoop(Inner, In);
    return true;
  }
  if (auto *Switch = dyn_cast<SwitchStmt>(S)) {
    Given |= inExpr(Switch->getCond(), In);
    unsigned Cases = 0; // Ignored, as no case is certain to be executed.
    follow(Switch->getBody(), Cases, In);
    return true;
  }
  if (auto *Case = dyn_cast<SwitchCase>(S))
    return follow(Case->getSubStmt(), Given, In);
  if (auto *Call = dyn_cast<CallExpr>(S))
    if (const FunctionDecl *Callee = Call->getDirectCallee())
      if (Callee->isNoReturn())
        return false;
  Given |= inExpr(S, In); // An expression, declaration or asm statement.
  return true;
}

} // namespace

IterationHints hintsOfIterations(const LoopShape &Shape, const LoopFacts &Facts,
                                 ArrayRef<const Rmw *> AtOnce) {
  unsigned Given = PathFollower(Shape, Facts, AtOnce).followIteration();
  return {(Given & PathFollower::Any) != 0, (Given & PathFollower::Pauses) != 0,
          (Given & PathFollower::Waits) != 0,
          (Given & PathFollower::Retries) != 0};
}

} // namespace vfriendly::tidy
