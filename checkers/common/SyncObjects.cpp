//===- SyncObjects.cpp - What synchronization calls work on ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/SyncModel.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

const ValueDecl *objectOf(const Expr *E) {
  for (;;) {
    if (!E)
      return nullptr;
    E = E->IgnoreParenCasts();
    if (auto *Unary = dyn_cast<UnaryOperator>(E);
        Unary &&
        (Unary->getOpcode() == UO_AddrOf || Unary->getOpcode() == UO_Deref)) {
      E = Unary->getSubExpr();
      continue;
    }
    if (auto *Element = dyn_cast<ArraySubscriptExpr>(E)) {
      E = Element->getBase();
      continue;
    }
    // Follows operator-> and operator* of a smart pointer to the pointer, and
    // operator[] to the container.
    if (auto *Call = dyn_cast<CXXOperatorCallExpr>(E);
        Call &&
        (Call->getNumArgs() == 1 || Call->getOperator() == OO_Subscript)) {
      E = Call->getArg(0);
      continue;
    }
    if (auto *Ref = dyn_cast<DeclRefExpr>(E))
      return Ref->getDecl();
    if (auto *Member = dyn_cast<MemberExpr>(E))
      return Member->getMemberDecl();
    return nullptr;
  }
}

const ParmVarDecl *ownerOf(const Expr *E) {
  const Expr *Base = nullptr;
  while (E) {
    E = E->IgnoreParenCasts();
    if (auto *Unary = dyn_cast<UnaryOperator>(E)) {
      E = Unary->getSubExpr();
    } else if (auto *Member = dyn_cast<MemberExpr>(E)) {
      Base = Member;
      E = Member->getBase();
    } else {
      break;
    }
  }
  auto *Ref = dyn_cast_or_null<DeclRefExpr>(E);
  return Base && Ref ? dyn_cast<ParmVarDecl>(Ref->getDecl()) : nullptr;
}

const Expr *predicateOf(ArrayRef<const Stmt *> Parents) {
  return loopCondition(innermostLoop(Parents));
}

std::string nameOf(const ValueDecl *Object) {
  return Object ? "'" + Object->getNameAsString() + "'" : "a lock";
}

const ValueDecl *declaredAt(ArrayRef<const Stmt *> Parents) {
  for (const Stmt *S : llvm::reverse(Parents)) {
    auto *Declaration = dyn_cast<DeclStmt>(S);
    if (Declaration && Declaration->isSingleDecl())
      return dyn_cast<ValueDecl>(Declaration->getSingleDecl());
    if (!isa<Expr>(S))
      return nullptr;
  }
  return nullptr;
}

const ValueDecl *takenBy(ArrayRef<const Stmt *> Parents, bool *MayOutlive) {
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (auto *Assign = dyn_cast<CXXOperatorCallExpr>(S);
        Assign && Assign->getOperator() == OO_Equal)
      return objectOf(Assign->getArg(0));
    if (auto *Assign = dyn_cast<BinaryOperator>(S);
        Assign && Assign->getOpcode() == BO_Assign)
      return objectOf(Assign->getLHS());
    auto *Method = dyn_cast<CXXMemberCallExpr>(S);
    StringRef Name = identifierOf(calleeOf(Method));
    if (llvm::is_contained({"push_back", "emplace_back", "emplace", "push"},
                           Name))
      return objectOf(Method->getImplicitObjectArgument());
    if (isa<LambdaExpr>(S) || !isa<Expr>(S))
      break;
    auto *Made = dyn_cast<CXXConstructExpr>(S);
    bool IsSame = Made && Made->getConstructor()->isCopyOrMoveConstructor();
    if (MayOutlive && (isa<CXXNewExpr, InitListExpr>(S) || (Made && !IsSame) ||
                       (isa<CallExpr>(S) && Name != "get" && Name != "wait")))
      *MayOutlive = true;
  }
  return declaredAt(Parents);
}

bool isOverKnownItems(const Stmt *Loop) {
  if (isa<CXXForRangeStmt>(Loop))
    return true;
  auto *For = dyn_cast<ForStmt>(Loop);
  if (!For || !For->getCond() || !For->getInc())
    return false;
  auto *Bound = dyn_cast<BinaryOperator>(For->getCond()->IgnoreImpCasts());
  if (!Bound || !Bound->isComparisonOp())
    return false;
  bool Calls = false;
  forEachStmt(For->getCond(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Method = dyn_cast_or_null<CXXMethodDecl>(calleeOf(S));
    Calls |= isa<CallExpr>(S) && !(Method && Method->isConst());
  });
  return !Calls;
}

} // namespace vfriendly::tidy
