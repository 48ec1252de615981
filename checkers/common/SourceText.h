//===- SourceText.h - What stands in the file -------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_SOURCETEXT_H
#define VFRIENDLY_CHECKERS_COMMON_SOURCETEXT_H

#include "clang/AST/Expr.h"
#include "clang/Basic/SourceLocation.h"
#include <string>

namespace vfriendly::tidy {

/// The text that makes up a statement, without its semicolon; invalid if a
/// macro gives only a part of it.
clang::CharSourceRange fileRange(const clang::Stmt *S,
                                 const clang::ASTContext &Context);

/// What stands in the file; empty if that cannot be told.
std::string textOf(const clang::Expr *E, const clang::ASTContext &Context);

/// The place behind a statement and its semicolon; invalid if that cannot be
/// told.
clang::SourceLocation endOfStatement(const clang::Stmt *S,
                                     const clang::ASTContext &Context);

/// The statement with its semicolon, and its lines if it has them for itself;
/// invalid if that cannot be told.
clang::CharSourceRange wholeStatement(const clang::Stmt *S,
                                      const clang::ASTContext &Context);

/// The white space a line starts with.
llvm::StringRef indentAt(clang::SourceLocation Place,
                         const clang::ASTContext &Context);

/// Returns true if there are preprocessor directives in the text. What an #if
/// leaves out counts too.
bool hasDirective(clang::SourceRange Range, const clang::ASTContext &Context);

/// Returns true if a line can be inserted before the one at Place: only white
/// space stands before Place on its line, and the line before is no directive,
/// as a pragma applies to what follows it.
bool hasRoomBefore(clang::SourceLocation Place,
                   const clang::ASTContext &Context);

/// Returns true if only white space stands before Place on its line.
bool startsLine(clang::SourceLocation Place, const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
