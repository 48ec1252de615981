//===- ElementAccess.cpp - Elements of arrays and vectors -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/ElementAccess.h"

#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "checkers/numa-placement/UnitValues.h"

#include "clang/AST/DeclCXX.h"

using namespace clang;

namespace vfriendly::tidy {

bool isOfStdClass(QualType T, ArrayRef<StringRef> Names) {
  const CXXRecordDecl *Class = T->getAsCXXRecordDecl();
  return Class && isOfStd(*Class) &&
         llvm::is_contained(Names, identifierOf(Class));
}
bool isElementOfVector(const CXXOperatorCallExpr &Call) {
  return Call.getOperator() == OO_Subscript && Call.getNumArgs() == 2 &&
         isOfStdClass(Call.getArg(0)->getType(), {"vector", "array"});
}

/// Returns the only expression that Callee returns; null if it has several.
static const Expr *onlyReturn(const FunctionDecl *Callee) {
  const FunctionDecl *Definition = nullptr;
  auto *Body = Callee && Callee->isDefined(Definition)
                   ? dyn_cast_or_null<CompoundStmt>(Definition->getBody())
                   : nullptr;
  auto *Return = Body && !Body->body_empty()
                     ? dyn_cast<ReturnStmt>(Body->body_back())
                     : nullptr;
  return Return ? Return->getRetValue() : nullptr;
}

// Maximum number of calls in one another that lead to an element: operator[]
// calls at(), which calls a function for the index. Functions may be recursive.
static constexpr unsigned MaxCalls = 3;

static std::optional<ArrayElement> elementIn(const Expr *E, unsigned Calls);

static bool isStorage(const ValueDecl &Field, unsigned Calls) {
  auto *Class = dyn_cast<CXXRecordDecl>(Field.getDeclContext());
  if (!isa<FieldDecl>(Field) || !Class)
    return false;
  return llvm::any_of(Class->methods(), [&](const CXXMethodDecl *Method) {
    if (Method->getOverloadedOperator() != OO_Subscript &&
        Method->getOverloadedOperator() != OO_Call)
      return false;
    const Expr *Result = stripped(onlyReturn(Method));
    std::optional<ArrayElement> Element =
        Result ? elementIn(Result, Calls) : std::nullopt;
    return Element && rootOf(Element->Base) == &Field;
  });
}

bool isStorage(const ValueDecl &Field) { return isStorage(Field, MaxCalls); }

const Expr *objectOf(const CallExpr &Call) {
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call))
    return Member->getImplicitObjectArgument();
  return isa<CXXOperatorCallExpr>(Call) &&
                 isa_and_nonnull<CXXMethodDecl>(Call.getDirectCallee())
             ? Call.getArg(0)
             : nullptr;
}

/// Returns the parts of `at(a, i)` or `m(i, j)`, or `*at(a, i)`, of a function
/// that returns a reference or pointer to an element of its parameter or of its
/// object. The index is the call.
static std::optional<ArrayElement> calledElement(const Expr *E,
                                                 unsigned Calls) {
  if (Calls == 0)
    return std::nullopt;
  auto *Target = dyn_cast<UnaryOperator>(E);
  auto *Call = dyn_cast<CallExpr>(Target && Target->getOpcode() == UO_Deref
                                      ? stripped(Target->getSubExpr())
                                      : E);
  if (!Call || (!Target && !Call->isLValue()) || Call->getNumArgs() == 0)
    return std::nullopt;
  const FunctionDecl *Callee = Call->getDirectCallee();
  const Expr *Result =
      Callee && !isOfStd(*Callee) ? stripped(onlyReturn(Callee)) : nullptr;
  if (!Result)
    return std::nullopt;
  const Expr *Base = nullptr;
  if (auto *Address = dyn_cast<UnaryOperator>(Result);
      Target && Address && Address->getOpcode() == UO_AddrOf)
    Result = stripped(Address->getSubExpr());
  if (auto *Sum = dyn_cast<BinaryOperator>(Result);
      Target && Sum && Sum->getOpcode() == BO_Add) {
    while (Sum && Sum->getOpcode() == BO_Add) {
      Base = Sum->getLHS();
      Sum = dyn_cast<BinaryOperator>(stripped(Base));
    }
  } else if (std::optional<ArrayElement> Element =
                 elementIn(Result, Calls - 1)) {
    Base = Element->Base;
  }
  if (!Base)
    return std::nullopt;
  auto *Ref = dyn_cast<DeclRefExpr>(stripped(Base));
  auto *Parameter = Ref ? dyn_cast<ParmVarDecl>(Ref->getDecl()) : nullptr;
  if (!Parameter) {
    auto *Member = dyn_cast<MemberExpr>(stripped(Base));
    if (!Member)
      return std::nullopt;
    if (isStorage(*Member->getMemberDecl(), Calls - 1))
      if (const Expr *Object = objectOf(*Call))
        Base = Object;
    return ArrayElement{Base, Call};
  }
  unsigned I = Parameter->getFunctionScopeIndex();
  I += isa<CXXOperatorCallExpr>(Call) && isa<CXXMethodDecl>(Callee);
  return I < Call->getNumArgs()
             ? std::optional(ArrayElement{Call->getArg(I), Call})
             : std::nullopt;
}

static std::optional<ArrayElement> elementIn(const Expr *E, unsigned Calls) {
  if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E))
    return ArrayElement{Subscript->getBase(), Subscript->getIdx()};
  auto *Operator = dyn_cast<CXXOperatorCallExpr>(E);
  if (Operator && isElementOfVector(*Operator))
    return ArrayElement{Operator->getArg(0), Operator->getArg(1)};
  if (std::optional<ArrayElement> Called = calledElement(E, Calls))
    return Called;
  auto *Target = dyn_cast<UnaryOperator>(E);
  auto *Sum = Target && Target->getOpcode() == UO_Deref
                  ? dyn_cast<BinaryOperator>(stripped(Target->getSubExpr()))
                  : nullptr;
  if (Sum && Sum->getOpcode() == BO_Add && Sum->getType()->isPointerType() &&
      Sum->getLHS()->getType()->isPointerType())
    return ArrayElement{Sum->getLHS(), Sum->getRHS()};
  return std::nullopt;
}

std::optional<ArrayElement> elementIn(const Expr *E) {
  return elementIn(E, MaxCalls);
}

bool isPartOfElement(ArrayRef<const Stmt *> Parents) {
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (isa<ArraySubscriptExpr>(S))
      return true;
    auto *Cast = dyn_cast<ImplicitCastExpr>(S);
    if (!isa<ParenExpr>(S) &&
        !(Cast && Cast->getCastKind() == CK_ArrayToPointerDecay))
      return false;
  }
  return false;
}

const Expr *writtenPart(const Expr &Element, ArrayRef<const Stmt *> Parents) {
  const Expr *Part = &Element;
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (auto *Binary = dyn_cast<BinaryOperator>(S))
      return Binary->isAssignmentOp() &&
                     stripped(Binary->getLHS()) == stripped(Part)
                 ? Part
                 : nullptr;
    if (auto *Unary = dyn_cast<UnaryOperator>(S))
      return Unary->isIncrementDecrementOp() ? Part : nullptr;
    auto *Member = dyn_cast<MemberExpr>(S);
    if (!isa<ParenExpr>(S) && !(Member && !Member->isArrow()))
      return nullptr;
    Part = cast<Expr>(S);
  }
  return nullptr;
}

bool isLentRow(const Expr &Whole, ArrayRef<const Stmt *> Parents) {
  auto *Call = Parents.size() > 1
                   ? dyn_cast<CallExpr>(Parents[Parents.size() - 2])
                   : nullptr;
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  if (!Callee || !Whole.getType()->isArrayType())
    return false;
  unsigned I =
      llvm::find(Call->arguments(), Parents.back()) - Call->arg_begin();
  return I < Callee->getNumParams() &&
         Callee->getParamDecl(I)->getType()->isPointerType() &&
         !Callee->getParamDecl(I)
              ->getType()
              ->getPointeeType()
              .isConstQualified();
}

bool isInput(ArrayRef<const Stmt *> Parents) {
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(S))
      return Operator->getOperator() == OO_GreaterGreater;
    if (auto *Call = dyn_cast<CallExpr>(S))
      return identifierOf(calleeOf(Call)).ends_with("scanf") ||
             llvm::is_contained({"fread", "read"},
                                identifierOf(calleeOf(Call)));
    auto *Unary = dyn_cast<UnaryOperator>(S);
    if (!isa<CastExpr, ParenExpr>(S) &&
        !(Unary && Unary->getOpcode() == UO_AddrOf))
      return false;
  }
  return false;
}

bool isLoaded(const Expr &E) {
  const Expr *From = stripped(&E);
  auto *Unary = dyn_cast<UnaryOperator>(From);
  return (isa<ArraySubscriptExpr>(From) ||
          (Unary && Unary->getOpcode() == UO_Deref)) &&
         From->getType()->isPointerType();
}

} // namespace vfriendly::tidy
