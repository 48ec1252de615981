//===- EachNode.cpp - A visit of all nodes of an AST ----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/EachNode.h"

#include "clang/AST/RecursiveASTVisitor.h"

using namespace clang;

namespace vfriendly::tidy {

class EachNode::Visitor : public RecursiveASTVisitor<EachNode::Visitor> {
public:
  explicit Visitor(EachNode &For) : For(For) {}

  bool shouldVisitTemplateInstantiations() const { return For.VisitsInstances; }
  bool TraverseStmt(Stmt *S) {
    if (!S)
      return true;
    For.Around.push_back(S);
    bool GoesOn = RecursiveASTVisitor<Visitor>::TraverseStmt(S);
    For.Around.pop_back();
    return GoesOn;
  }
  bool VisitDecl(Decl *D) { return For.visit(*D); }
  bool VisitStmt(Stmt *S) { return For.visit(*S); }
  bool VisitTypeLoc(TypeLoc Loc) { return For.visit(Loc); }

private:
  EachNode &For;
};

void EachNode::traverse(Decl &D) { Visitor(*this).TraverseDecl(&D); }

void EachNode::traverse(TypeLoc Loc) { Visitor(*this).TraverseTypeLoc(Loc); }

} // namespace vfriendly::tidy
