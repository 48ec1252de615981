//===- Counting.h - How loops count, and how often they iterate -*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_COUNTING_H
#define VFRIENDLY_CHECKERS_COMMON_COUNTING_H

#include "clang/AST/Stmt.h"

#include <cstdint>
#include <optional>

namespace vfriendly::tidy {

/// Returns the value of E if it is an integer constant that an int64_t can
/// represent: SIZE_MAX is none, and neither are many of __int128. E may be
/// null.
std::optional<int64_t> constantOf(const clang::Expr *E,
                                  const clang::ASTContext &Context);

/// Returns the value of E if it is a constant of up to 32 bits, so that the sum
/// of two cannot overflow. E may be null.
std::optional<int64_t> smallConstant(const clang::Expr *E,
                                     const clang::ASTContext &Context);

/// Returns the variable or field that E names; null if E names none. Ignores
/// parentheses and implicit casts, but not explicit casts, because an explicit
/// cast changes the value that is compared.
const clang::ValueDecl *counterOf(const clang::Expr *E);

/// What the head of a `for` loop, or the statement before a loop, assigns to
/// one variable; null if it does something else.
struct CountBegin {
  const clang::ValueDecl *Counter = nullptr;
  const clang::Expr *Value = nullptr;
};
CountBegin beginOf(const clang::Stmt *Init);

struct CountStart {
  const clang::ValueDecl *Counter;
  int64_t Value;
};

/// Returns the variable or field that a statement gives a constant. Init may be
/// null.
std::optional<CountStart> startOf(const clang::Stmt *Init,
                                  const clang::ASTContext &Context);

/// Returns the constant that Increment adds to Counter; 0 if the constant is
/// not known. Increment may be null.
int64_t stepOf(const clang::Expr *Increment, const clang::ValueDecl *Counter,
               const clang::ASTContext &Context);

/// Returns how often a `for` loop with a constant bound iterates at most,
/// judged by its head alone: a start that is not known counts as 0, and an
/// increment that is not known as 1. 1 for `do ... while (0)`; nullopt if the
/// bound is not known.
std::optional<int64_t> iterationsOf(const clang::Stmt *Loop,
                                    const clang::ASTContext &Context);

/// Returns true if iterationsOf says less than 64. What happens once in each
/// iteration of such a loop does not show in a profile: starting a thread costs
/// as much as hundreds of moves of a cache line.
bool hasFewIterations(const clang::Stmt *Loop,
                      const clang::ASTContext &Context);

/// Returns the variable that E names, as counterOf does; null if E names none.
const clang::VarDecl *uncastVariable(const clang::Expr *E);

} // namespace vfriendly::tidy

#endif
