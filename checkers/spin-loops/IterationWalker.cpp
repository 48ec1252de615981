//===- IterationWalker.cpp - Walks the statements of one iteration --------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/IterationWalker.h"

#include "checkers/common/Loops.h"
#include "passes/common/TellingNames.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true for `do { } while (0)`, as used in macros.
static bool isOnceOnly(const Stmt *S, const ASTContext &Context) {
  auto *Do = dyn_cast<DoStmt>(S);
  bool Value;
  return Do && !Do->getCond()->isValueDependent() &&
         Do->getCond()->EvaluateAsBooleanCondition(Value, Context) && !Value;
}

/// Returns the call that S is, or that S ends with, as abort() in `(report(),
/// abort())`.
static const CallExpr *callIn(const Stmt *S) {
  auto *E = dyn_cast_or_null<Expr>(S);
  if (!E)
    return nullptr;
  E = E->IgnoreParenCasts();
  while (auto *Op = dyn_cast<BinaryOperator>(E)) {
    if (Op->getOpcode() != BO_Comma)
      break;
    E = Op->getRHS()->IgnoreParenCasts();
  }
  return dyn_cast<CallExpr>(E);
}

static bool isNoReturnCall(const Stmt *S) {
  const CallExpr *Call = callIn(S);
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  return Callee && (Callee->isNoReturn() || Callee->hasAttr<NoReturnAttr>());
}

static const Stmt *lastOf(const Stmt *S) {
  while (auto *Block = dyn_cast_or_null<CompoundStmt>(S))
    S = Block->body_empty() ? nullptr : Block->body_back();
  return S;
}

/// Returns true if S ends the program, for example after it reports an error.
/// Such a path is not a part of any iteration.
static bool endsProgram(const Stmt *S) {
  const Stmt *Last = lastOf(S);
  return Last && isNoReturnCall(Last);
}

/// Returns the call at the end of S if its name suggests that it ends the
/// program; otherwise null.
static const CallExpr *endsByName(const Stmt *S) {
  const CallExpr *Call = callIn(lastOf(S));
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  return Callee && Callee->getIdentifier() &&
                 whatNameTells(Callee->getName()) == NameTells::Fails
             ? Call
             : nullptr;
}

static bool hasJumpOver(const Stmt *S) {
  return S && (isa<ContinueStmt, IndirectGotoStmt>(S) ||
               llvm::any_of(S->children(), hasJumpOver));
}

static bool hasGoto(const Stmt *S) {
  return S && (isa<GotoStmt, IndirectGotoStmt>(S) ||
               llvm::any_of(S->children(), hasGoto));
}

size_t beginOfTail(const LoopShape &Shape, const CompoundStmt &Block) {
  size_t Begin = Block.size();
  if (Shape.Head || Shape.Body.front() != &Block)
    return Begin;
  for (size_t I = 0; I != Block.size(); ++I)
    if (isa<LabelStmt>(Block.body_begin()[I]))
      Begin = I;
  // A goto in the tail may make another loop, and a continue skips the tail.
  ArrayRef<Stmt *> Statements(Block.body_begin(), Block.size());
  if (Begin == Block.size() || hasJumpOver(&Block) ||
      llvm::any_of(Statements.drop_front(Begin), hasGoto))
    return Block.size();
  return Begin;
}

static const LabelStmt *tailLabel(const LoopShape &Shape) {
  auto *Block = dyn_cast<CompoundStmt>(Shape.Body.front());
  size_t Begin = Block ? beginOfTail(Shape, *Block) : 0;
  return Block && Begin != Block->size()
             ? cast<LabelStmt>(Block->body_begin()[Begin])
             : nullptr;
}

bool IterationWalker::isRepeat(const GotoStmt &Goto) const {
  if (Goto.getLabel() == Shape.Head)
    return true;
  // Most gotos lead elsewhere, which is cheaper to see.
  const LabelStmt *To = Goto.getLabel()->getStmt();
  return To && llvm::is_contained(Shape.Body.front()->children(), To) &&
         To == tailLabel(Shape);
}

IterationWalker::Ends IterationWalker::endsOf(const Stmt *S,
                                              const Context &C) const {
  if (!S)
    return {};
  if (isa<BreakStmt>(S))
    return C.BreakLeaves ? Ends{false, false, true} : Ends{};
  if (isa<ContinueStmt>(S))
    return C.ContinueRepeats ? Ends{false, true, false} : Ends{};
  if (isa<ReturnStmt>(S) || isa<CXXThrowExpr>(S) || isNoReturnCall(S))
    return {false, false, true};
  if (auto *Goto = dyn_cast<GotoStmt>(S))
    return isRepeat(*Goto) ? Ends{false, true, false}
                           : Ends{false, false, true};
  if (auto *Label = dyn_cast<LabelStmt>(S))
    return endsOf(Label->getSubStmt(), C);
  if (auto *Full = dyn_cast<ExprWithCleanups>(S))
    return endsOf(Full->getSubExpr(), C);
  if (auto *If = dyn_cast<IfStmt>(S)) {
    Ends Then = endsOf(If->getThen(), C), Else = endsOf(If->getElse(), C);
    return {Then.Falls || Else.Falls, Then.Repeats || Else.Repeats,
            Then.Leaves || Else.Leaves};
  }
  if (auto *Compound = dyn_cast<CompoundStmt>(S)) {
    Ends All;
    for (const Stmt *Child : Compound->body()) {
      Ends One = endsOf(Child, C);
      All = {One.Falls, All.Repeats || One.Repeats, All.Leaves || One.Leaves};
      if (!All.Falls)
        break;
    }
    return All;
  }
  return {}; // Control may continue after an inner loop or a switch.
}

void IterationWalker::leave(const Context &C) {
  if (!C.InCallee)
    Facts.Exits.push_back(C.Under);
}

void IterationWalker::leaveWhen(const Context &C, const Expr *Condition,
                                bool Holds) {
  Context Exit = C;
  Exit.Under.push_back({Condition, C.In, Holds});
  leave(Exit);
}

bool IterationWalker::walkIteration() {
  Context C;
  C.In = &Facts.Frames.front();
  if (Shape.backJump()) {
    if (!walkSequence(Shape.Body, C))
      return false;
    leave(C); // Falling out of the last statement ends a goto loop.
    return true;
  }

  bool Value;
  bool Forever =
      !Shape.Condition ||
      (!Shape.Condition->isValueDependent() &&
       Shape.Condition->EvaluateAsBooleanCondition(Value, Facts.Context));
  if (Forever && Shape.Condition && !Value)
    return false; // The body runs once or never.
  if (!Forever) {
    if (!visit(Shape.Condition, C))
      return false;
    leaveWhen(C, Shape.Condition, false);
  }
  Ends Body = endsOf(Shape.Body.front(), C);
  if (!Body.Falls && !Body.Repeats)
    return false;
  if (tailLabel(Shape)) {
    auto &Block = *cast<CompoundStmt>(Shape.Body.front());
    SmallVector<const Stmt *, 8> Statements(Block.body());
    ArrayRef<const Stmt *> All = Statements;
    Context Before = C;
    size_t Tail = beginOfTail(Shape, Block);
    // Each iteration that repeats executes the tail, whatever led there.
    if (!walkSequence(All.take_front(Tail), Before) ||
        !walkSequence(All.drop_front(Tail), C))
      return false;
  } else if (!walk(Shape.Body.front(), C)) {
    return false;
  }
  return !Shape.Increment || visit(Shape.Increment, C);
}

bool IterationWalker::walk(const Stmt *S, Context &C) {
  if (!S)
    return true;
  if (Budget == 0 || Effort == 0)
    return false;
  --Budget;
  --Effort;

  if (auto *Compound = dyn_cast<CompoundStmt>(S)) {
    SmallVector<const Stmt *, 8> Body(Compound->body());
    return walkSequence(Body, C);
  }
  if (auto *If = dyn_cast<IfStmt>(S))
    return walkIf(*If, C);
  if (isNoReturnCall(S))
    return true;
  if (auto *E = dyn_cast<Expr>(S))
    return visit(E, C);
  if (auto *Decls = dyn_cast<DeclStmt>(S))
    return declare(*Decls, C);
  if (isOnceOnly(S, Facts.Context)) {
    Context Inner = C;
    Inner.BreakLeaves = Inner.ContinueRepeats = false;
    return walk(cast<DoStmt>(S)->getBody(), Inner);
  }
  if (isLoop(S))
    return walkInnerLoop(S, C);
  if (auto *Switch = dyn_cast<SwitchStmt>(S))
    return walkSwitch(*Switch, C);
  if (auto *Case = dyn_cast<SwitchCase>(S))
    return walk(Case->getSubStmt(), C);
  if (auto *Label = dyn_cast<LabelStmt>(S))
    return (Label->getDecl() == Shape.Head || Label == tailLabel(Shape)) &&
           walk(Label->getSubStmt(), C);
  if (auto *Attributed = dyn_cast<AttributedStmt>(S))
    return walk(Attributed->getSubStmt(), C);
  if (auto *Asm = dyn_cast<GCCAsmStmt>(S))
    return visitAsm(*Asm, C);
  if (auto *Return = dyn_cast<ReturnStmt>(S)) {
    if (!C.InCallee) {
      leave(C);
      return true;
    }
    if (!Return->getRetValue())
      return true;
    C.In->Results.push_back(Return->getRetValue());
    return visit(Return->getRetValue(), C);
  }
  if (isa<BreakStmt>(S)) {
    if (C.BreakLeaves)
      leave(C);
    return true;
  }
  if (isa<GotoStmt>(S))
    return walkGoto(S, C);
  return isa<NullStmt>(S) || isa<ContinueStmt>(S);
}

bool IterationWalker::walkGoto(const Stmt *S, Context &C) {
  auto *Goto = cast<GotoStmt>(S);
  if (C.InCallee)
    return false;
  if (!isRepeat(*Goto))
    leave(C);
  return true;
}

bool IterationWalker::walkSequence(ArrayRef<const Stmt *> Body, Context &C) {
  // C.Under keeps the conditions that a statement has added, because they also
  // hold for the statements after it.
  for (const Stmt *Child : Body) {
    Ends E = C.InCallee ? Ends() : endsOf(Child, C);
    if (E.staysOut()) {
      leave(C); // Effects on an exit path do not belong to the wait.
      return true;
    }
    if (!walk(Child, C))
      return false;
    if (!E.Falls)
      return true;
  }
  return true;
}

bool IterationWalker::decide(const Expr *Condition, Context &C) {
  if (C.InCallee)
    C.In->Conditions.push_back(Condition);
  return visit(Condition, C);
}

bool IterationWalker::walkIf(const IfStmt &If, Context &C) {
  if (If.getConditionVariable())
    return false;
  if (If.getInit() && !walk(If.getInit(), C))
    return false;
  bool Value;
  if (!If.getCond()->isValueDependent() &&
      If.getCond()->EvaluateAsBooleanCondition(Value, Facts.Context)) {
    const Stmt *Taken = Value ? If.getThen() : If.getElse();
    return !Taken || walk(Taken, C);
  }
  if (!decide(If.getCond(), C))
    return false;

  Ends Then = endsOf(If.getThen(), C), Else = endsOf(If.getElse(), C);
  auto WalkBranch = [&](const Stmt *Branch, const Ends &E, bool Holds) {
    Context Inner = C;
    Inner.Under.push_back({If.getCond(), C.In, Holds});
    if (endsProgram(Branch))
      return true;
    if (const CallExpr *End = endsByName(Branch))
      return doubt(Doubt::Telling, End, C);
    if (E.staysOut() && !C.InCallee) {
      leave(Inner);
      return true;
    }
    return walk(Branch, Inner);
  };
  if (!WalkBranch(If.getThen(), Then, true) ||
      !WalkBranch(If.getElse(), Else, false))
    return false;
  if (C.InCallee)
    return true;
  // If one branch ends the iteration, what follows the `if` is executed only
  // under the condition of the other branch.
  if (!Then.Falls && Then.Repeats)
    C.Under.push_back({If.getCond(), C.In, false});
  if (If.getElse() && !Else.Falls && Else.Repeats)
    C.Under.push_back({If.getCond(), C.In, true});
  return true;
}

bool IterationWalker::walkInnerLoop(const Stmt *S, Context &C) {
  Context Inner = C;
  Inner.BreakLeaves = Inner.ContinueRepeats = false;
  Inner.InLoop = true;
  Inner.AroundLoop = C.InLoop ? C.AroundLoop : C.Under.size();
  Facts.HasInnerLoop = true;
  LoopShape Loop = shapeOf(S);
  if (!Loop.Statement)
    return false; // A range-for traverses data.
  if (auto *For = dyn_cast<ForStmt>(S))
    if (!walk(For->getInit(), Inner))
      return false;
  if (Loop.Condition) {
    if (!decide(Loop.Condition, Inner))
      return false;
    Facts.InnerConditions.push_back({Loop.Condition, C.In});
    if (!Loop.TestsLast)
      Inner.Under.push_back({Loop.Condition, C.In, true});
  }
  if (!walk(Loop.Body.front(), Inner))
    return false;
  return !Loop.Increment || visit(Loop.Increment, Inner);
}

bool IterationWalker::walkSwitch(const SwitchStmt &Switch, Context &C) {
  if (Switch.getConditionVariable() || Switch.getInit() ||
      !decide(Switch.getCond(), C))
    return false;
  Context Inner = C;
  Inner.BreakLeaves = false;
  Inner.Under.push_back({Switch.getCond(), C.In, true, /*IsSwitch=*/true});
  return walk(Switch.getBody(), Inner);
}

} // namespace vfriendly::tidy
