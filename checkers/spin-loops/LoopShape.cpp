//===- LoopShape.cpp - A loop as it is written ----------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/LoopShape.h"

#include "checkers/common/Places.h"

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

bool anyPart(const Stmt *S, llvm::function_ref<bool(const Stmt *)> Is) {
  return S && (Is(S) || llvm::any_of(S->children(), [&](const Stmt *Child) {
                 return anyPart(Child, Is);
               }));
}

bool names(const Stmt *S, const ValueDecl &D) {
  return anyPart(S, [&](const Stmt *Part) {
    auto *E = dyn_cast<Expr>(Part);
    return E && namedBy(E) == &D;
  });
}

bool hasContinue(const Stmt *S) {
  if (!S || isa<WhileStmt, ForStmt, DoStmt, CXXForRangeStmt, Expr>(S))
    return false;
  return isa<ContinueStmt>(S) || llvm::any_of(S->children(), hasContinue);
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
                 Variable->getType()->isScalarType() && names(From, *Variable)
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

bool onlyWalks(const LoopShape &Shape) {
  const VarDecl *Moved = movedBy(Shape.Increment);
  return Moved && Shape.Condition && isSimple(Shape.Condition) &&
         names(Shape.Condition, *Moved) &&
         !hasWayOut(Shape.Body.front(), /*BreakStays=*/false);
}

namespace {

class LoopCollector {
public:
  explicit LoopCollector(std::vector<WrittenLoop> &Found) : Found(Found) {}

  void visit(const Stmt *S) {
    while (auto *Cast = dyn_cast_or_null<ImplicitCastExpr>(S))
      S = Cast->getSubExpr();
    if (!S || isLeaf(S) || isa<LambdaExpr>(S))
      return;
    if (LoopShape Shape = shapeOf(S); Shape.Statement)
      add(std::move(Shape));
    Parents.push_back(S);
    if (auto *Compound = dyn_cast<CompoundStmt>(S))
      visitSequence(*Compound);
    else
      for (const Stmt *Child : S->children())
        visit(Child);
    Parents.pop_back();
  }

private:
  void add(LoopShape Shape) {
    Found.push_back({std::move(Shape), {Parents.begin(), Parents.end()}});
  }

  /// Adds the loops that consist of a label and the gotos back to it, among
  /// the statements of one block.
  void visitSequence(const CompoundStmt &Block) {
    ArrayRef<Stmt *> Body(Block.body_begin(), Block.size());
    for (size_t I = 0; I != Body.size(); ++I) {
      if (auto *Label = dyn_cast<LabelStmt>(Body[I]))
        addGotos(*Label, Body.drop_front(I));
      visit(Body[I]);
    }
  }

  void addGotos(const LabelStmt &Label, ArrayRef<Stmt *> Rest) {
    LoopShape Shape;
    Shape.Head = Label.getDecl();
    size_t Count = 0;
    for (size_t I = 0; I != Rest.size(); ++I)
      if (const GotoStmt *Jump = findGoto(Rest[I], Label.getDecl())) {
        if (!Shape.Statement)
          Shape.Statement = Jump;
        Count = I + 1;
      }
    // A case of a switch around the loop enters the body in its middle.
    if (!Shape.Statement || llvm::any_of(Rest.take_front(Count), isCase))
      return;
    Shape.Body.append(Rest.begin(), Rest.begin() + Count);
    add(std::move(Shape));
  }

  static bool isCase(const Stmt *S) {
    while (auto *Label = dyn_cast<LabelStmt>(S))
      S = Label->getSubStmt();
    return isa<SwitchCase>(S);
  }

  static const GotoStmt *findGoto(const Stmt *S, const LabelDecl *Label) {
    if (!S || isa<Expr>(S))
      return nullptr;
    if (auto *Goto = dyn_cast<GotoStmt>(S))
      return Goto->getLabel() == Label ? Goto : nullptr;
    for (const Stmt *Child : S->children())
      if (const GotoStmt *Found = findGoto(Child, Label))
        return Found;
    return nullptr;
  }

  std::vector<WrittenLoop> &Found;
  SmallVector<const Stmt *, 16> Parents;
};

} // namespace

std::vector<WrittenLoop> loopsOf(const FunctionDecl &Function) {
  std::vector<WrittenLoop> Found;
  LoopCollector(Found).visit(Function.getBody());
  return Found;
}

} // namespace vfriendly::tidy
