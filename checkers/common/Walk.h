//===- Walk.h - The statements of a function --------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_WALK_H
#define VFRIENDLY_CHECKERS_COMMON_WALK_H

#include "checkers/common/Loops.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace vfriendly::tidy {

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

} // namespace vfriendly::tidy

#endif
