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

/// Are there preprocessor directives in the text? What an #if leaves out has a
/// say, too.
bool hasDirective(clang::SourceRange Range, const clang::ASTContext &Context);

/// Can a line be put before the one at Place? Not if more stands before it
/// there than white space, nor behind a directive: a pragma means what comes
/// next.
bool hasRoomBefore(clang::SourceLocation Place,
                   const clang::ASTContext &Context);

/// Does only white space stand before Place on its line?
bool startsLine(clang::SourceLocation Place, const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
