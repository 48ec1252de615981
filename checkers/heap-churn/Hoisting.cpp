//===- Hoisting.cpp - Moving declarations out of loops --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Hoisting.h"

#include "checkers/common/EachNode.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace vfriendly::tidy {

bool hasRoomAround(const Stmt *Loop, const FunctionView &View) {
  const Stmt *Block = View.parent(Loop);
  return !View.hasLabels() && isa_and_nonnull<CompoundStmt>(Block) &&
         !isa_and_nonnull<SwitchStmt>(View.parent(Block));
}

bool isOnlyOne(const VarDecl &Variable, const FunctionView &View) {
  for (const ParmVarDecl *P : View.Function.parameters())
    if (P->getDeclName() == Variable.getDeclName())
      return false;
  for (const VarDecl *Other : View.locals())
    if (Other != &Variable && Other->getDeclName() == Variable.getDeclName())
      return false;
  bool IsOnly = true;
  forEachStmtAndLambda(
      View.Function.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
        auto *Ref = dyn_cast<DeclRefExpr>(S);
        IsOnly &= !Ref || Ref->getDecl() == &Variable ||
                  Ref->getDecl()->getDeclName() != Variable.getDeclName();
      });
  return IsOnly;
}

namespace {
/// Finds names in the spelling of a type that are declared in the function.
class LocalNames : public EachNode {
public:
  bool Found = false;

private:
  bool visit(TypeLoc Loc) override {
    const Type *T = Loc.getTypePtr();
    if (auto *Alias = dyn_cast<TypedefType>(T))
      note(Alias->getDecl());
    else if (auto *Tag = dyn_cast<TagType>(T))
      note(Tag->getDecl());
    return !Found;
  }
  bool visit(Stmt &S) override {
    if (auto *Ref = dyn_cast<DeclRefExpr>(&S))
      note(Ref->getDecl());
    return !Found;
  }
  void note(const Decl *D) {
    Found |= D->getDeclContext()->isFunctionOrMethod();
  }
};
} // namespace

bool isTypeOfFile(const VarDecl &Variable) {
  QualType Type = Variable.getType();
  const TypeSourceInfo *Written = Variable.getTypeSourceInfo();
  if (!Written || Type->isVariablyModifiedType() ||
      Type->isFunctionPointerType() || Type->getContainedAutoType())
    return false;
  LocalNames Names;
  Names.traverse(Written->getTypeLoc());
  return !Names.Found;
}

} // namespace vfriendly::tidy
