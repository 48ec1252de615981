//===- SourceText.h - Source ranges and their text --------------*- C++ -*-===//
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

/// Returns the range of a statement in the file, without its semicolon; invalid
/// if a macro expands to only a part of it.
clang::CharSourceRange fileRange(const clang::Stmt *S,
                                 const clang::ASTContext &Context);

/// Returns the text of E in the file; empty if it cannot be determined.
std::string textOf(const clang::Expr *E, const clang::ASTContext &Context);

/// Returns the location after a statement and its semicolon; invalid if it
/// cannot be determined.
clang::SourceLocation endOfStatement(const clang::Stmt *S,
                                     const clang::ASTContext &Context);

/// Returns the statement with its semicolon, and with its lines if nothing else
/// is on them; invalid if it cannot be determined.
clang::CharSourceRange wholeStatement(const clang::Stmt *S,
                                      const clang::ASTContext &Context);

/// Returns the white space that the line begins with.
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
