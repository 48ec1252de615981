//===- Places.cpp - The memory that an expression denotes -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/Places.h"

#include "checkers/common/AtomicOps.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/FoldingSet.h"

using namespace clang;

namespace vfriendly::tidy {

static const FunctionDecl *functionAround(const Decl &D) {
  for (const DeclContext *C = D.getParentFunctionOrMethod(); C;
       C = C->getParent())
    if (auto *F = dyn_cast<FunctionDecl>(C))
      return F;
  return nullptr;
}

const Frame *frameOf(const VarDecl &Variable, const Frame *In) {
  const FunctionDecl *Owner = functionAround(Variable);
  if (!Owner)
    return nullptr;
  for (const Frame *F = In; F; F = F->Caller)
    if (F->Function->getCanonicalDecl() == Owner->getCanonicalDecl())
      return F;
  return nullptr;
}

/// Returns true if a lambda captured Variable by copy. The lambda then uses its
/// copy and not Variable.
static bool isCapturedByCopy(const VarDecl &Variable, const Frame *In) {
  for (const Frame *F = In; F; F = F->Caller) {
    auto *Method = dyn_cast<CXXMethodDecl>(F->Function);
    if (!Method || !Method->getParent()->isLambda())
      continue;
    for (const LambdaCapture &C : Method->getParent()->captures())
      if (C.capturesVariable() && C.getCapturedVar() == &Variable)
        return C.getCaptureKind() == LCK_ByCopy;
  }
  return false;
}

static Place variablePlace(const DeclRefExpr &Ref, const VarDecl &Variable,
                           const Frame *In) {
  if (Variable.getTLSKind() != VarDecl::TLS_None)
    return {Place::ThreadLocal, &Variable, In, &Ref};
  if (!Variable.hasLocalStorage())
    return {Place::Elsewhere, &Variable, In, &Ref};

  const Frame *Owner = frameOf(Variable, In);
  if (Variable.getType()->isReferenceType()) {
    if (auto *Parm = dyn_cast<ParmVarDecl>(&Variable); Parm && Owner)
      if (const Expr *Argument = Owner->Arguments.lookup(Parm))
        return placeOf(Argument, Owner->Caller);
    // Follows a reference to its initializer: both name the same object.
    const Expr *Init =
        isa<ParmVarDecl>(Variable) ? nullptr : Variable.getInit();
    if (Init && Owner && Init->isGLValue())
      return placeOf(Init, Owner);
    return {Place::Elsewhere, nullptr, In, &Ref};
  }
  if (Owner && !Ref.refersToEnclosingVariableOrCapture())
    return {Place::Local, &Variable, Owner, &Ref};
  if (isCapturedByCopy(Variable, In))
    return {Place::Local, &Variable, In, &Ref};
  if (Owner && Owner->Caller == nullptr && Owner != In)
    return {Place::Local, &Variable, Owner, &Ref}; // Captured by reference.
  return {Place::Elsewhere, &Variable, In, &Ref};
}

/// Returns true if Cast turns an untyped address into a pointer to volatile, as
/// accessors of device registers do. Returns false for the cast in `*(volatile
/// int *)&flag`.
static bool isMadeVolatile(const CastExpr &Cast) {
  return isa<ExplicitCastExpr>(Cast) && Cast.getType()->isPointerType() &&
         Cast.getType()->getPointeeType().isVolatileQualified() &&
         Cast.getSubExpr()
             ->IgnoreParenImpCasts()
             ->getType()
             ->isVoidPointerType();
}

/// Returns true for `(T *)0xfee00000`, but neither for `(T *)(uintptr_t)&flag`
/// nor for MAP_FAILED, which is `(void *)-1`.
static bool isMadeOfInteger(const CastExpr &Cast) {
  if (Cast.getCastKind() != CK_IntegralToPointer)
    return false;
  const Expr *E = Cast.getSubExpr()->IgnoreParens();
  while (auto *Inner = dyn_cast<CastExpr>(E)) {
    if (Inner->getCastKind() == CK_PointerToIntegral)
      return false;
    E = Inner->getSubExpr()->IgnoreParens();
  }
  auto *Op = dyn_cast<UnaryOperator>(E);
  return !Op || Op->getOpcode() != UO_Minus;
}

Place pointeeOf(const Expr *Pointer, const Frame *In) {
  const Expr *E = Pointer->IgnoreParens();
  while (auto *Cast = dyn_cast<CastExpr>(E)) {
    if (isMadeVolatile(*Cast)) {
      Place P = pointeeOf(Cast->getSubExpr(), In);
      P.Untyped = true;
      return P;
    }
    if (isMadeOfInteger(*Cast))
      return {Place::Device, nullptr, In, Pointer};
    if (Cast->getCastKind() == CK_ArrayToPointerDecay)
      return placeOf(Cast->getSubExpr(), In);
    if (Cast->getCastKind() == CK_LValueToRValue) {
      E = Cast->getSubExpr()->IgnoreParens();
      break;
    }
    E = Cast->getSubExpr()->IgnoreParens();
  }
  if (auto *Op = dyn_cast<UnaryOperator>(E); Op && Op->getOpcode() == UO_AddrOf)
    return placeOf(Op->getSubExpr(), In);
  if (auto *Sum = dyn_cast<BinaryOperator>(E); Sum && Sum->isAdditiveOp()) {
    const Expr *Base = Sum->getLHS()->getType()->isPointerType()
                           ? Sum->getLHS()
                           : Sum->getRHS();
    Place P = pointeeOf(Base, In);
    if (P.Where == Place::Device || P.Where == Place::Local)
      return P;
    return {Place::Elsewhere, nullptr, In, Pointer};
  }
  if (isa<CXXThisExpr>(E) && In->Object) {
    if (In->Object->getType()->isPointerType())
      return pointeeOf(In->Object, In->Caller);
    return placeOf(In->Object, In->Caller);
  }
  auto *Ref = dyn_cast<DeclRefExpr>(E);
  if (auto *Parm = Ref ? dyn_cast<ParmVarDecl>(Ref->getDecl()) : nullptr) {
    const Frame *Owner = frameOf(*Parm, In);
    if (const Expr *Argument = Owner ? Owner->Arguments.lookup(Parm) : nullptr)
      return pointeeOf(Argument, Owner->Caller);
  } else if (auto *Variable =
                 Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr) {
    // Assumes that a pointer that is initialized with the address of a device
    // register always points to device registers.
    const Expr *Init = Variable->getAnyInitializer();
    auto *Cast =
        Init ? dyn_cast<CastExpr>(Init->IgnoreParenImpCasts()) : nullptr;
    if (Cast && isMadeOfInteger(*Cast))
      return {Place::Device, Variable, In, Pointer};
  }
  return {Place::Elsewhere, nullptr, In, Pointer};
}

Place placeOf(const Expr *LValue, const Frame *In) {
  const Expr *E = LValue->IgnoreParens();
  if (auto *Cast = dyn_cast<CastExpr>(E))
    return placeOf(Cast->getSubExpr(), In);
  if (auto *Full = dyn_cast<FullExpr>(E))
    return placeOf(Full->getSubExpr(), In);
  if (isa<MaterializeTemporaryExpr>(E) || isa<CompoundLiteralExpr>(E))
    return {Place::Local, nullptr, In, LValue};
  if (auto *Ref = dyn_cast<DeclRefExpr>(E)) {
    if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl()))
      return variablePlace(*Ref, *Variable, In);
    return {Place::Elsewhere, nullptr, In, E};
  }

  Place P = {Place::Elsewhere, nullptr, In, E};
  auto PartOf = [&](Place Base) {
    if (Base.Where == Place::Elsewhere) {
      P.Untyped = Base.Untyped;
      return P;
    }
    Base.LValue = Base.In == In ? E : Base.LValue;
    return Base;
  };
  if (auto *Member = dyn_cast<MemberExpr>(E)) {
    if (auto *Static = dyn_cast<VarDecl>(Member->getMemberDecl())) {
      P.Variable = Static;
      return P;
    }
    // A reference member is a place of its own: it refers to an object outside
    // of the structure.
    if (Member->getMemberDecl()->getType()->isReferenceType())
      return P;
    return PartOf(Member->isArrow() ? pointeeOf(Member->getBase(), In)
                                    : placeOf(Member->getBase(), In));
  }
  if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E))
    return PartOf(pointeeOf(Subscript->getBase(), In));
  if (auto *Op = dyn_cast<UnaryOperator>(E)) {
    if (Op->getOpcode() == UO_Deref) {
      Place Pointee = pointeeOf(Op->getSubExpr(), In);
      P.Untyped = Pointee.Untyped;
      return Pointee.Where == Place::Elsewhere && !Pointee.Variable &&
                     Pointee.In == In
                 ? P
                 : Pointee;
    }
    return placeOf(Op->getSubExpr(), In); // ++x is x.
  }
  if (auto *Op = dyn_cast<BinaryOperator>(E)) {
    if (Op->isAssignmentOp())
      return placeOf(Op->getLHS(), In);
    if (Op->getOpcode() == BO_Comma)
      return placeOf(Op->getRHS(), In);
  }
  return P;
}

bool isSamePlace(const Place &A, const Place &B, const ASTContext &Context) {
  if (A.Where != B.Where || A.In != B.In || !A.LValue || !B.LValue)
    return false;
  auto Identify = [&](const Expr *E) {
    llvm::FoldingSetNodeID ID;
    E->IgnoreParenCasts()->Profile(ID, Context, /*Canonical=*/true);
    return ID;
  };
  return Identify(A.LValue) == Identify(B.LValue);
}

namespace {

/// Collects variables that are used other than by reading or writing them.
class EscapeFinder {
public:
  VarSet Escapes;

  void visit(const Stmt *S) {
    if (!S || isLeaf(S))
      return;
    if (auto *E = dyn_cast<Expr>(S))
      visitExpr(*E);
    if (auto *Decls = dyn_cast<DeclStmt>(S))
      for (const Decl *D : Decls->decls())
        if (auto *Variable = dyn_cast<VarDecl>(D))
          if (Variable->getType()->isReferenceType())
            escape(Variable->getInit());
    if (auto *Captured = dyn_cast<CapturedStmt>(S)) {
      for (const CapturedStmt::Capture &C : Captured->captures())
        if (C.capturesVariable())
          Escapes.insert(C.getCapturedVar());
      visit(Captured->getCapturedStmt());
      return;
    }
    if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(S)) {
      // Skips the conversion of the subscripted array to a pointer: the
      // subscript does not let the address of the array escape.
      auto *Decay = dyn_cast<ImplicitCastExpr>(Subscript->getBase());
      visit(Decay ? Decay->getSubExpr() : Subscript->getBase());
      visit(Subscript->getIdx());
      return;
    }
    for (const Stmt *Child : S->children())
      visit(Child);
  }

private:
  void visitExpr(const Expr &E) {
    if (auto *Op = dyn_cast<UnaryOperator>(&E)) {
      if (Op->getOpcode() == UO_AddrOf)
        escape(Op->getSubExpr());
      return;
    }
    if (auto *Cast = dyn_cast<CastExpr>(&E)) {
      if (Cast->getCastKind() == CK_ArrayToPointerDecay)
        escape(Cast->getSubExpr());
      return;
    }
    if (auto *Lambda = dyn_cast<LambdaExpr>(&E)) {
      for (const LambdaCapture &C : Lambda->captures())
        if (C.capturesVariable() && C.getCaptureKind() == LCK_ByRef)
          if (auto *Variable = dyn_cast<VarDecl>(C.getCapturedVar()))
            Escapes.insert(Variable);
      return;
    }
    if (std::optional<AtomicOp> Op = matchAtomicOp(&E); Op && Op->IsStdMember)
      return;
    if (auto *Call = dyn_cast<CallExpr>(&E)) {
      for (const Expr *Argument : Call->arguments())
        bind(*Argument);
      if (auto *Member = dyn_cast<CXXMemberCallExpr>(Call))
        bind(*Member->getImplicitObjectArgument());
      return;
    }
    if (auto *Construct = dyn_cast<CXXConstructExpr>(&E))
      for (const Expr *Argument : Construct->arguments())
        bind(*Argument);
  }

  /// Notes that a reference is bound to Argument. A function that takes a
  /// reference to const does not write through it, unless the object is an
  /// atomic: such a reference may be passed on for others to write.
  void bind(const Expr &Argument) {
    if (Argument.isGLValue() && (!Argument.getType().isConstQualified() ||
                                 isAtomicType(Argument.getType())))
      escape(&Argument);
  }

  void escape(const Expr *E) {
    while (E) {
      E = E->IgnoreParenCasts();
      if (auto *Ref = dyn_cast<DeclRefExpr>(E)) {
        if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl()))
          Escapes.insert(Variable);
        return;
      }
      if (auto *Member = dyn_cast<MemberExpr>(E))
        E = Member->isArrow() ? nullptr : Member->getBase();
      else if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E))
        E = Subscript->getBase();
      else
        return;
    }
  }
};

} // namespace

const VarSet &Escapes::of(const Stmt *Body) {
  if (Body != Last) {
    EscapeFinder Finder;
    Finder.visit(Body);
    Found = std::move(Finder.Escapes);
    Last = Body;
  }
  return Found;
}

const ValueDecl *namedBy(const Expr *E) {
  const ValueDecl *D = nullptr;
  if (auto *Ref = dyn_cast<DeclRefExpr>(E))
    D = Ref->getDecl();
  else if (auto *Member = dyn_cast<MemberExpr>(E))
    D = Member->getMemberDecl();
  return D && !D->getType()->isReferenceType() ? D : nullptr;
}

} // namespace vfriendly::tidy
