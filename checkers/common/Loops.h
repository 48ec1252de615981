//===- Loops.h - The loops of C and C++ -------------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_LOOPS_H
#define VFRIENDLY_CHECKERS_COMMON_LOOPS_H

#include "clang/AST/StmtCXX.h"

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

} // namespace vfriendly::tidy

#endif
