//===- Loops.cpp - Loops, and the statements inside them ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/Loops.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtOpenMP.h"
#include "llvm/ADT/STLExtras.h"

using namespace clang;

namespace vfriendly::tidy {

static void walk(const Stmt *S, SmallVectorImpl<const Stmt *> &Parents,
                 StmtVisitor Visit, bool IntoLambdas) {
  if (!S)
    return;
  Visit(S, Parents);
  auto WalkInto = [&](std::initializer_list<const Stmt *> Children) {
    Parents.push_back(S);
    for (const Stmt *Child : Children)
      walk(Child, Parents, Visit, IntoLambdas);
    Parents.pop_back();
  };
  // The most frequent kinds, of which children() costs more than the visit.
  switch (S->getStmtClass()) {
  case Stmt::DeclRefExprClass:
  case Stmt::IntegerLiteralClass:
  case Stmt::StringLiteralClass:
  case Stmt::CharacterLiteralClass:
  case Stmt::CXXThisExprClass:
    return;
  case Stmt::ImplicitCastExprClass:
  case Stmt::CStyleCastExprClass:
    return WalkInto({cast<CastExpr>(S)->getSubExpr()});
  case Stmt::ParenExprClass:
    return WalkInto({cast<ParenExpr>(S)->getSubExpr()});
  case Stmt::MemberExprClass:
    return WalkInto({cast<MemberExpr>(S)->getBase()});
  case Stmt::UnaryOperatorClass:
    return WalkInto({cast<UnaryOperator>(S)->getSubExpr()});
  case Stmt::BinaryOperatorClass:
  case Stmt::CompoundAssignOperatorClass:
    return WalkInto(
        {cast<BinaryOperator>(S)->getLHS(), cast<BinaryOperator>(S)->getRHS()});
  default:
    break;
  }
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

BlockPart innermostBlock(const Stmt *S, ArrayRef<const Stmt *> Parents) {
  for (const Stmt *Parent : llvm::reverse(Parents)) {
    if (auto *Block = dyn_cast<CompoundStmt>(Parent))
      return {Block, S};
    S = Parent;
  }
  return {nullptr, S};
}

bool hasParallelPolicy(const CallExpr &Call) {
  const CXXRecordDecl *Class =
      Call.getNumArgs() ? Call.getArg(0)->getType()->getAsCXXRecordDecl()
                        : nullptr;
  return llvm::is_contained({"parallel_policy", "parallel_unsequenced_policy"},
                            identifierOf(Class));
}

/// Returns true for names such as parallel_for of oneTBB and Kokkos,
/// parallel_for_each, and ParallelFor.
static bool namesParallelLoop(StringRef Name) {
  std::string Plain = Name.lower();
  llvm::erase(Plain, '_');
  return StringRef(Plain).starts_with("parallelfor") ||
         Plain == "parallelreduce" || Plain == "parallelscan" ||
         Plain == "parfor";
}

/// Returns true for the methods by which a graph of Taskflow gets a loop.
static bool isLoopOfTaskflow(const FunctionDecl &Callee) {
  auto *Method = dyn_cast<CXXMethodDecl>(&Callee);
  StringRef Name = identifierOf(&Callee);
  return Method &&
         (Name == "for_each_index" || Name == "for_each" ||
          Name == "for_each_by_index") &&
         llvm::is_contained({"FlowBuilder", "Taskflow", "Subflow"},
                            identifierOf(Method->getParent()));
}

bool isParallelAlgorithm(const CallExpr &Call) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  StringRef Name = identifierOf(Callee);
  return !Name.empty() &&
         (namesParallelLoop(Name) || isLoopOfTaskflow(*Callee) ||
          hasParallelPolicy(Call));
}

const BinaryOperator *comparisonOf(const Stmt *Loop) {
  auto *For = dyn_cast<ForStmt>(Loop);
  return For ? dyn_cast_or_null<BinaryOperator>(For->getCond()) : nullptr;
}

} // namespace vfriendly::tidy
