//===- ZeroFill.h - Writes of zeros to new memory ---------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_ZEROFILL_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_ZEROFILL_H

#include "checkers/numa-placement/UnitValues.h"

namespace vfriendly::tidy {

bool isZero(const clang::Expr &E, const clang::ASTContext &Context);

/// Returns true if the innermost of Parents assigns zero, and Loop counts up
/// from 0 and calls nothing.
bool isZeroFill(llvm::ArrayRef<const clang::Stmt *> Parents,
                const clang::Stmt &Loop, const clang::ASTContext &Context);

/// Returns true if all memory that Array leads to comes from one call of malloc
/// in the function In. Compilers turn this call and a loop that sets the memory
/// to zero into a call of calloc, which gets pages of zeros and touches none.
bool isMallocOf(const clang::FunctionDecl &In, const clang::ValueDecl &Array,
                const UnitValues &Values);

} // namespace vfriendly::tidy

#endif
