//===- Loops.h - Loops, and the statements inside them ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_LOOPS_H
#define VFRIENDLY_CHECKERS_COMMON_LOOPS_H

#include "clang/AST/Expr.h"
#include "clang/AST/StmtCXX.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace vfriendly::tidy {

inline bool isLoop(const clang::Stmt *S) {
  return llvm::isa<clang::WhileStmt, clang::ForStmt, clang::DoStmt,
                   clang::CXXForRangeStmt>(S);
}

/// Returns the part of the loop that each iteration executes, without the
/// implicit parts of a range-for.
inline const clang::Stmt *loopBody(const clang::Stmt *Loop) {
  if (auto *While = llvm::dyn_cast<clang::WhileStmt>(Loop))
    return While->getBody();
  if (auto *For = llvm::dyn_cast<clang::ForStmt>(Loop))
    return For->getBody();
  if (auto *Do = llvm::dyn_cast<clang::DoStmt>(Loop))
    return Do->getBody();
  return llvm::cast<clang::CXXForRangeStmt>(Loop)->getBody();
}

/// Returns the condition of a `while`, `do` or `for` loop; null if S is none or
/// has none. S may be null.
inline const clang::Expr *loopCondition(const clang::Stmt *S) {
  if (auto *While = llvm::dyn_cast_or_null<clang::WhileStmt>(S))
    return While->getCond();
  if (auto *Do = llvm::dyn_cast_or_null<clang::DoStmt>(S))
    return Do->getCond();
  auto *For = llvm::dyn_cast_or_null<clang::ForStmt>(S);
  return For ? For->getCond() : nullptr;
}

using StmtVisitor = llvm::function_ref<void(
    const clang::Stmt *, llvm::ArrayRef<const clang::Stmt *>)>;

/// Calls Visit(statement, parents) for Root and all statements below it, the
/// outermost parent first. The body of an OpenMP directive is visited as it is
/// written. The bodies of lambdas are left out.
void forEachStmt(const clang::Stmt *Root, StmtVisitor Visit);

/// Does the same as forEachStmt, and also visits the bodies of lambdas.
void forEachStmtAndLambda(const clang::Stmt *Root, StmtVisitor Visit);

/// Returns the innermost loop among Parents; null if there is none.
const clang::Stmt *innermostLoop(llvm::ArrayRef<const clang::Stmt *> Parents);

/// A block, and a statement of it.
struct BlockPart {
  const clang::CompoundStmt *Block;
  const clang::Stmt *Part;
};
/// Returns the innermost block among Parents, and the statement of it that is
/// or contains S. The block is null if there is none.
BlockPart innermostBlock(const clang::Stmt *S,
                         llvm::ArrayRef<const clang::Stmt *> Parents);

/// Returns true for an algorithm of the standard library with a parallel
/// policy.
bool hasParallelPolicy(const clang::CallExpr &Call);

/// Returns true for tbb::parallel_for and its like, and for algorithms with a
/// parallel policy.
bool isParallelAlgorithm(const clang::CallExpr &Call);

/// Returns the condition of a `for` loop if it is a binary operation.
const clang::BinaryOperator *comparisonOf(const clang::Stmt *Loop);

} // namespace vfriendly::tidy

#endif
