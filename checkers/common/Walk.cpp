//===- Walk.cpp - The statements of a function ----------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/Walk.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtOpenMP.h"

using namespace clang;

namespace vfriendly::tidy {

static void walk(const Stmt *S, SmallVectorImpl<const Stmt *> &Parents,
                 StmtVisitor Visit, bool IntoLambdas) {
  if (!S)
    return;
  Visit(S, Parents);
  auto *Lambda = dyn_cast<LambdaExpr>(S);
  if (Lambda && !IntoLambdas)
    return;
  Parents.push_back(S);
  if (Lambda)
    walk(Lambda->getBody(), Parents, Visit, IntoLambdas);
  else if (auto *Directive = dyn_cast<OMPExecutableDirective>(S);
           Directive && Directive->hasAssociatedStmt())
    // Visits the body of an OpenMP directive as the programmer wrote it. The
    // other children of Directive are code that the compiler generates from
    // this body.
    walk(Directive->getRawStmt(), Parents, Visit, IntoLambdas);
  else
    for (const Stmt *Child : S->children())
      walk(Child, Parents, Visit, IntoLambdas);
  Parents.pop_back();
}

void forEachStmt(const Stmt *Root, StmtVisitor Visit) {
  SmallVector<const Stmt *, 16> Parents;
  walk(Root, Parents, Visit, false);
}

void forEachStmtAndLambda(const Stmt *Root, StmtVisitor Visit) {
  SmallVector<const Stmt *, 16> Parents;
  walk(Root, Parents, Visit, true);
}

const Stmt *innermostLoop(ArrayRef<const Stmt *> Parents) {
  for (const Stmt *S : llvm::reverse(Parents))
    if (isLoop(S))
      return S;
  return nullptr;
}

} // namespace vfriendly::tidy
