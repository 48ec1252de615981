//===- FunctionView.cpp - Heap calls and loops of a function --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/FunctionView.h"

#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/StmtOpenMP.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if S is a loop, and not the `do { ... } while (0)` of a macro.
static bool mayRepeat(const Stmt *S) {
  auto *Do = dyn_cast<DoStmt>(S);
  if (!Do)
    return isLoop(S);
  const Expr *Condition = Do->getCond()->IgnoreParenImpCasts();
  auto *Number = dyn_cast<IntegerLiteral>(Condition);
  auto *Word = dyn_cast<CXXBoolLiteralExpr>(Condition);
  return !(Number && Number->getValue().isZero()) &&
         !(Word && !Word->getValue());
}

FunctionView::FunctionView(const FunctionDecl &Function, HeapCalls &Heap)
    : Function(Function), Context(Function.getASTContext()), Heap(Heap) {
  walk(Function.getBody());
}

void FunctionView::walk(const Stmt *S) {
  if (isa<UnaryExprOrTypeTraitExpr>(S))
    return; // The operand of sizeof is not evaluated.
  if (mayRepeat(S))
    Loops.push_back(S);
  else if (isa<LabelStmt>(S))
    Labels = true;
  else if (auto *Ref = dyn_cast<DeclRefExpr>(S)) {
    if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl()))
      Refs[Variable->getCanonicalDecl()].push_back(Ref);
    return;
  } else if (auto *Declaration = dyn_cast<DeclStmt>(S)) {
    for (const Decl *D : Declaration->decls())
      if (auto *Variable = dyn_cast<VarDecl>(D))
        Locals.push_back(Variable);
  } else if (auto *E = dyn_cast<Expr>(S)) {
    if (isa<CallExpr, CXXNewExpr, CXXDeleteExpr>(E))
      if (std::optional<HeapCall> Call = Heap.match(E))
        Calls.push_back(*Call);
  }
  auto Enter = [&](const Stmt *Child) {
    if (!Child)
      return;
    Parents[Child] = S;
    walk(Child);
  };
  if (auto *Directive = dyn_cast<OMPExecutableDirective>(S);
      Directive && Directive->hasAssociatedStmt())
    return Enter(Directive->getRawStmt());
  if (auto *Lambda = dyn_cast<LambdaExpr>(S)) {
    for (const Expr *Init : Lambda->capture_inits())
      Enter(Init);
    return; // A lambda's body is a function of its own.
  }
  for (const Stmt *Child : S->children())
    Enter(Child);
}

ArrayRef<const DeclRefExpr *>
FunctionView::refs(const VarDecl &Variable) const {
  auto Known = Refs.find(Variable.getCanonicalDecl());
  if (Known == Refs.end())
    return {};
  return Known->second;
}

const Stmt *FunctionView::loopAround(const Stmt &S) const {
  const Stmt *Child = &S;
  for (const Stmt *P = parent(Child); P; Child = P, P = parent(P)) {
    if (!mayRepeat(P))
      continue;
    // The initialisation of a for loop runs once, before the iterations.
    if (auto *For = dyn_cast<ForStmt>(P); For && For->getInit() == Child)
      continue;
    if (isa<CXXForRangeStmt>(P) && loopBody(P) != Child)
      continue;
    return P;
  }
  return nullptr;
}

bool FunctionView::isWithin(const Stmt *S, const Stmt *Around) const {
  for (; S; S = parent(S))
    if (S == Around)
      return true;
  return false;
}

const Stmt *FunctionView::partOf(const CompoundStmt &Block,
                                 const Stmt *S) const {
  for (const Stmt *P = parent(S); P; S = P, P = parent(P))
    if (P == &Block)
      return S;
  return nullptr;
}

bool FunctionView::isWhereNull(const Stmt *S, const VarDecl &Variable) const {
  for (const Stmt *P = parent(S); P; S = P, P = parent(P))
    if (auto *If = dyn_cast<IfStmt>(P))
      if (std::optional<bool> Test = nullTest(If->getCond(), Variable, Context))
        if (S == (*Test ? If->getThen() : If->getElse()))
          return true;
  return false;
}

bool FunctionView::isOwn(const VarDecl &Variable) const {
  const DeclContext *Around = Variable.getDeclContext();
  while (isa<CapturedDecl>(Around)) // The body of an OpenMP region.
    Around = Around->getParent();
  return Variable.hasLocalStorage() &&
         cast<Decl>(Around)->getCanonicalDecl() == Function.getCanonicalDecl();
}

const VarDecl *FunctionView::ownerOf(const Expr &S) const {
  const Stmt *Child = &S;
  for (const Stmt *P = parent(Child); P; Child = P, P = parent(P)) {
    if (isa<ParenExpr, CastExpr, FullExpr>(P))
      continue;
    if (auto *Declaration = dyn_cast<DeclStmt>(P)) {
      for (const Decl *D : Declaration->decls())
        if (auto *Variable = dyn_cast<VarDecl>(D);
            Variable && Variable->getInit() == Child)
          return isOwn(*Variable) ? Variable : nullptr;
      return nullptr;
    }
    auto *Assign = dyn_cast<BinaryOperator>(P);
    if (!Assign || Assign->getOpcode() != BO_Assign ||
        Assign->getRHS() != Child)
      return nullptr;
    const VarDecl *Variable = variableOf(Assign->getLHS());
    return Variable && isOwn(*Variable) &&
                   !Variable->getType()->isReferenceType()
               ? Variable
               : nullptr;
  }
  return nullptr;
}

std::optional<StmtSet> FunctionView::writesOf(const VarDecl &Variable) const {
  StmtSet Writes;
  if (Variable.getType()->isReferenceType() || !isOwn(Variable))
    return std::nullopt;
  for (const DeclRefExpr *Ref : refs(Variable)) {
    const Stmt *Child = Ref, *P = parent(Ref);
    auto IsTransparent = [](const Stmt *Outer) {
      auto *Cast = dyn_cast<CastExpr>(Outer);
      return isa<ParenExpr>(Outer) || (Cast && Cast->getCastKind() == CK_NoOp);
    };
    while (P && IsTransparent(P)) {
      Child = P;
      P = parent(P);
    }
    if (!P || isa<LambdaExpr>(P))
      return std::nullopt;
    // `v.push_back(i)` of the standard library only reads a const argument.
    if (auto *Call = dyn_cast<CallExpr>(P);
        Call && Child != Ref && Call->getDirectCallee() &&
        isOfStd(*Call->getDirectCallee()) &&
        cast<Expr>(Child)->getType().isConstQualified())
      continue;
    if (auto *Cast = dyn_cast<CastExpr>(P);
        Cast && Cast->getCastKind() == CK_LValueToRValue)
      continue;
    auto *Assign = dyn_cast<BinaryOperator>(P);
    if (Assign && Assign->isAssignmentOp() && Assign->getLHS() == Child) {
      Writes.insert(Assign);
      continue;
    }
    auto *Step = dyn_cast<UnaryOperator>(P);
    if (Step && Step->isIncrementDecrementOp()) {
      Writes.insert(Step);
      continue;
    }
    // `(void)p;` has no effect.
    if (auto *Cast = dyn_cast<CastExpr>(P);
        Cast && Cast->getCastKind() == CK_ToVoid)
      continue;
    return std::nullopt;
  }
  return Writes;
}

const CFG *FunctionView::graph() {
  if (GraphTried)
    return Graph.get();
  GraphTried = true;
  CFG::BuildOptions Options;
  Options.setAllAlwaysAdd();
  Options.PruneTriviallyFalseEdges = true;
  Graph = CFG::buildCFG(&Function, Function.getBody(), &Context, Options);
  if (!Graph)
    return nullptr;
  for (const CFGBlock *Block : *Graph) {
    unsigned Index = 0;
    for (const CFGElement &Element : *Block) {
      if (auto Statement = Element.getAs<CFGStmt>())
        Positions.try_emplace(Statement->getStmt(), Position{Block, Index});
      ++Index;
    }
  }
  return Graph.get();
}

std::optional<FunctionView::Position> FunctionView::positionOf(const Stmt *S) {
  if (!graph())
    return std::nullopt;
  auto Known = Positions.find(S);
  if (Known == Positions.end())
    return std::nullopt;
  return Known->second;
}

bool FunctionView::isRepeated(const Stmt *S) {
  std::optional<Position> At = positionOf(S);
  if (!At)
    return false;
  llvm::SmallPtrSet<const CFGBlock *, 16> Seen;
  SmallVector<const CFGBlock *, 16> Work{At->Block};
  while (!Work.empty()) {
    const CFGBlock *Block = Work.pop_back_val();
    if (Block->hasNoReturnElement())
      continue; // Control does not return to this function.
    for (const CFGBlock *Next : Block->succs()) {
      if (Next == At->Block)
        return true;
      if (Next && Seen.insert(Next).second)
        Work.push_back(Next);
    }
  }
  return false;
}

} // namespace vfriendly::tidy
