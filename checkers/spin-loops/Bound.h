//===- Bound.h - Iteration limits of counting loops -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_BOUND_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_BOUND_H

#include "clang/AST/Stmt.h"

#include <cstdint>
#include <optional>

namespace vfriendly::tidy {

/// Returns the maximum number of iterations of a `for` loop that counts a local
/// variable from one constant to another by a constant step, even if the loop
/// has other exits; nullopt for any other loop. Use the result only in the text
/// of a report: the function does not detect writes to the counter through a
/// pointer.
std::optional<uint64_t> constantBound(const clang::Stmt &Loop,
                                      const clang::ASTContext &Context);

/// Returns the variable that E names, as counterOf does; null if E names none.
const clang::VarDecl *uncastVariable(const clang::Expr *E);

} // namespace vfriendly::tidy

#endif
