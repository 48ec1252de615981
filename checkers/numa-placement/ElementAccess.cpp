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

std::optional<ArrayElement> elementIn(const Expr *E) {
  if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E))
    return ArrayElement{Subscript->getBase(), Subscript->getIdx()};
  auto *Operator = dyn_cast<CXXOperatorCallExpr>(E);
  if (Operator && isElementOfVector(*Operator))
    return ArrayElement{Operator->getArg(0), Operator->getArg(1)};
  auto *Target = dyn_cast<UnaryOperator>(E);
  auto *Sum = Target && Target->getOpcode() == UO_Deref
                  ? dyn_cast<BinaryOperator>(stripped(Target->getSubExpr()))
                  : nullptr;
  if (Sum && Sum->getOpcode() == BO_Add && Sum->getType()->isPointerType() &&
      Sum->getLHS()->getType()->isPointerType())
    return ArrayElement{Sum->getLHS(), Sum->getRHS()};
  return std::nullopt;
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

bool isLoaded(const Expr &E) {
  const Expr *From = stripped(&E);
  auto *Unary = dyn_cast<UnaryOperator>(From);
  return (isa<ArraySubscriptExpr>(From) ||
          (Unary && Unary->getOpcode() == UO_Deref)) &&
         From->getType()->isPointerType();
}

} // namespace vfriendly::tidy
