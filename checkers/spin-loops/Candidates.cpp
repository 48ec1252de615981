//===- Candidates.cpp - Loops that may wait -------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/Candidates.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/Counting.h"
#include "checkers/common/WaitNeutral.h"
#include "passes/analysis/common/TellingNames.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

#include <utility>

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of statements and expressions of a wait, and of a function
/// that it calls. Spin loops are small; a larger loop works.
static constexpr unsigned MaxNodes = 600;

/// Maximum number of statements and expressions of a function that is inlined
/// although it has effects (isTiny in Expose.cpp). Of a larger one
/// the judge knows only that it has.
static constexpr unsigned MaxTinyNodes = 120;

/// Maximum depth of calls that are followed, as for the passes (Expose.cpp).
static constexpr unsigned MaxDepth = 8;

bool isShared(const Expr *LValue) {
  const Expr *E = LValue->IgnoreParenCasts();
  for (;;) {
    if (E->getType().isVolatileQualified() || isAtomicType(E->getType()))
      return true;
    if (auto *Member = dyn_cast<MemberExpr>(E)) {
      if (Member->isArrow() || isa<VarDecl>(Member->getMemberDecl()))
        return true;
      E = Member->getBase()->IgnoreParenCasts();
    } else if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E)) {
      const Expr *Base = Subscript->getBase()->IgnoreParenImpCasts();
      if (!Base->getType()->isArrayType())
        return true;
      E = Base->IgnoreParenCasts();
    } else {
      break;
    }
  }
  if (auto *Ref = dyn_cast<DeclRefExpr>(E)) {
    auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
    return Variable && (!Variable->hasLocalStorage() ||
                        Variable->getType()->isReferenceType() ||
                        Ref->refersToEnclosingVariableOrCapture());
  }
  return !E->isPRValue();
}

/// Returns true if S reads memory at an address that Variable determines, as in
/// `p = p->next`.
static bool readsThrough(const Stmt *S, const VarDecl &Variable) {
  return anyPart(S, [&](const Stmt *Part) {
    const Expr *Address = nullptr;
    if (auto *Member = dyn_cast<MemberExpr>(Part); Member && Member->isArrow())
      Address = Member->getBase();
    else if (auto *Op = dyn_cast<UnaryOperator>(Part);
             Op && Op->getOpcode() == UO_Deref)
      Address = Op->getSubExpr();
    else if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(Part))
      Address = Subscript->getBase();
    return Address && uncastVariable(Address) == &Variable;
  });
}

void Candidates::enter(const FunctionDecl *Callee, Effects &Into,
                       bool Decides) {
  const FunctionDecl *Definition = nullptr;
  const Stmt *Body = Callee ? Callee->getBody(Definition) : nullptr;
  if (!Body || Depth == MaxDepth) {
    Into.Harms |= !Callee || !Callee->isTrivial();
    return;
  }
  auto [Place, IsNew] = Known.try_emplace(Definition);
  if (!IsNew) // A recursive call adds nothing.
    return Into.add(Place->second, Decides);
  Effects Inside;
  unsigned Left = std::exchange(Budget, MaxNodes);
  ++Depth;
  visit(Body, Inside, /*Decides=*/false);
  --Depth;
  if (Inside.Harms && MaxNodes - Budget > MaxTinyNodes)
    Inside.ReadsMarked = false;
  Budget = Left;
  Known[Definition] = Inside;
  Into.add(Inside, Decides);
}

/// Returns true if E is a local variable, or a part of one.
static bool isInLocal(const Expr *E) {
  for (;;) {
    E = E->IgnoreParenCasts();
    if (auto *Member = dyn_cast<MemberExpr>(E); Member && !Member->isArrow())
      E = Member->getBase();
    else if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E))
      E = Subscript->getBase();
    else
      break;
  }
  auto *Ref = dyn_cast<DeclRefExpr>(E);
  auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  return Variable && Variable->hasLocalStorage();
}

/// Returns true if a function may write what it reads where the caller looks
/// for it: in the object of a method, or in a local variable whose address it
/// gets.
static bool mayPassOn(const CallExpr &Call) {
  if (isa<CXXMemberCallExpr, CXXOperatorCallExpr>(Call))
    return true;
  return llvm::any_of(Call.arguments(), [](const Expr *Arg) {
    auto *Op = dyn_cast<UnaryOperator>(Arg->IgnoreParenCasts());
    return Op && Op->getOpcode() == UO_AddrOf ? isInLocal(Op->getSubExpr())
                                              : Arg->isLValue();
  });
}

void Candidates::visitCall(const CallExpr &Call, Effects &Into, bool Decides) {
  auto *Named = dyn_cast_or_null<NamedDecl>(Call.getCalleeDecl());
  NameTells Tells = Named && Named->getIdentifier()
                        ? whatNameTells(Named->getName())
                        : NameTells::Nothing;
  Into.Hints |= Tells == NameTells::Pauses || Tells == NameTells::Delays;
  Into.Fails |= Tells == NameTells::Fails;
  Into.Reads = true; // The result may be what the loop waits for.
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (Callee) {
    if (Callee->isNoReturn()) {
      Into.Fails = true;
      return;
    }
    CallEffect Effect = classifyCall(Call, *Callee);
    Into.Hints |= isHint(Effect);
    Into.ReadsMarked |= Effect == CallEffect::TryLock;
    if (Effect != CallEffect::Other)
      return;
  }
  // Of a function that does not only wait, a body tells more than the name.
  bool NeedsNoBody =
      llvm::is_contained({NameTells::Pauses, NameTells::Delays,
                          NameTells::Fails, NameTells::ReadsClock},
                         Tells);
  if (NeedsNoBody ||
      (Tells != NameTells::Nothing && Tells != NameTells::Prints && Callee &&
       !Callee->hasBody()))
    return;
  auto *Method = dyn_cast_or_null<CXXMethodDecl>(Callee);
  enter(Method && Method->isVirtual() ? nullptr : Callee, Into,
        Decides || mayPassOn(Call));
}

void Candidates::visitStore(const Expr *LValue, Effects &Into) {
  // In a called function, memory behind a pointer may be the caller's.
  const Expr *E = LValue->IgnoreParenCasts();
  auto *Ref = dyn_cast<DeclRefExpr>(E);
  auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  if (Variable && !Variable->hasLocalStorage())
    Into.Harms = true;
  else if (Variable)
    Into.Moves = true;
  else if (Depth == 0 && isShared(E) && !isAtomicType(E->getType()))
    Into.Harms = true;
}

bool Candidates::decides(const Stmt &Child, const Stmt &Of,
                         bool Decides) const {
  if (auto *Op = dyn_cast<BinaryOperator>(&Of)) {
    if (Op->isAssignmentOp()) {
      const ValueDecl *To = namedBy(Op->getLHS());
      return Decides || (&Child == Op->getRHS() &&
                         (Depth != 0 || isInLocal(Op->getLHS()) ||
                          (To && names(Condition, *To))));
    }
    if (Op->isLogicalOp())
      return Decides || &Child == Op->getLHS();
    return Decides && (!Op->isCommaOp() || &Child == Op->getRHS());
  }
  if (auto *Choice = dyn_cast<AbstractConditionalOperator>(&Of))
    return Decides || &Child == Choice->getCond();
  if (auto *Call = dyn_cast<CallExpr>(&Of))
    return Decides || (!matchAtomicOp(Call) && mayPassOn(*Call));
  if (isa<Expr>(Of))
    return Decides || isa<StmtExpr>(Of);
  if (auto *If = dyn_cast<IfStmt>(&Of))
    return &Child == If->getCond();
  if (auto *Switch = dyn_cast<SwitchStmt>(&Of))
    return &Child == Switch->getCond();
  if (auto *While = dyn_cast<WhileStmt>(&Of))
    return &Child == While->getCond();
  if (auto *Do = dyn_cast<DoStmt>(&Of))
    return &Child == Do->getCond();
  if (auto *For = dyn_cast<ForStmt>(&Of))
    return &Child == For->getCond();
  return isa<DeclStmt>(Of) || (isa<ReturnStmt>(Of) && Depth != 0);
}

void Candidates::visit(const Stmt *S, Effects &Into, bool Decides) {
  if (isa<UnaryExprOrTypeTraitExpr, LambdaExpr>(S))
    return;
  if (Budget == 0) {
    Into.Harms = true;
    return;
  }
  --Budget;
  if (auto *E = dyn_cast<Expr>(S)) {
    if (isLeaf(E))
      return;
    if (std::optional<AtomicOp> Op = matchAtomicOp(E)) {
      Into.Reads = true;
      Into.ReadsMarked |= Decides || Op->Expected || Op->Result;
    } else if (auto *Call = dyn_cast<CallExpr>(E)) {
      visitCall(*Call, Into, Decides);
    } else if (auto *Construct = dyn_cast<CXXConstructExpr>(E)) {
      if (!Construct->getConstructor()->isTrivial())
        enter(Construct->getConstructor(), Into, /*Decides=*/true);
    } else if (isa<CXXNewExpr, CXXDeleteExpr>(E)) {
      Into.Harms = true;
    } else if (auto *Op = dyn_cast<BinaryOperator>(E)) {
      const VarDecl *To = uncastVariable(Op->getLHS());
      if (Op->isCompoundAssignmentOp() ||
          (Op->isAssignmentOp() && (!To || readsThrough(Op->getRHS(), *To))))
        visitStore(Op->getLHS(), Into);
      else if (Op->isAssignmentOp() && !To->hasLocalStorage())
        Into.Harms = true;
    } else if (auto *Op = dyn_cast<UnaryOperator>(E)) {
      if (Op->isIncrementDecrementOp())
        visitStore(Op->getSubExpr(), Into);
    } else if (auto *Cast = dyn_cast<CastExpr>(E)) {
      if (Cast->getCastKind() == CK_LValueToRValue ||
          Cast->getCastKind() == CK_AtomicToNonAtomic) {
        QualType T = Cast->getSubExpr()->getType();
        Into.ReadsMarked |=
            Decides && (T.isVolatileQualified() || isAtomicType(T));
        Into.Reads = Into.Reads || isShared(Cast->getSubExpr());
      }
    }
  } else if (auto *Asm = dyn_cast<GCCAsmStmt>(S)) {
    CallEffect Effect = classifyAsm(*Asm);
    Into.Hints |= isHint(Effect);
    Into.Harms |= Effect == CallEffect::Other;
    Into.Reads |= Effect != CallEffect::Other;
    Into.ReadsMarked |= Effect != CallEffect::Other;
  }
  for (const Stmt *Child : S->children())
    if (Child)
      visit(Child, Into, decides(*Child, *S, Decides));
}

bool Candidates::wait(const LoopShape &Shape, const FunctionDecl &Function) {
  if (onlyWalks(Shape))
    return false;
  Effects Does;
  Budget = MaxNodes;
  Condition = Shape.Condition;
  Shape.forEachPart(
      [&](const Stmt *S) { visit(S, Does, S == Shape.Condition); });
  // A loop that works in some iterations may wait in others (SplitPolls.h), if
  // it polls memory that the program marks as shared.
  if (Does.Harms && !Does.Hints && !Does.Fails && !Does.ReadsMarked)
    return false;
  // Without a hint, a loop that counts or follows a list while it reads plain
  // memory searches.
  if (Does.Moves && !Does.Hints && !Does.ReadsMarked)
    return false;
  if (Does.Reads)
    return true;
  // A local variable that another thread may have got by reference.
  const VarSet &Shared = Escaping.of(Function.getBody());
  bool Names = false;
  Shape.forEachPart([&](const Stmt *S) {
    for (const VarDecl *Variable : Shared)
      Names = Names || names(S, *Variable);
  });
  return Names;
}

} // namespace vfriendly::tidy
