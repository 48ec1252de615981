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

/// Returns the name of Of; empty if Of is null or has no name of its own, like
/// an operator.
llvm::StringRef identifierOf(const clang::NamedDecl *Of);

/// Returns the function that S, a direct call, calls; null if S is none.
const clang::FunctionDecl *calleeOf(const clang::Stmt *S);

/// Returns the range in the file that the statement S occupies, without the
/// semicolon; invalid if S begins or ends in the middle of a macro's expansion.
clang::CharSourceRange fileRange(const clang::Stmt *S,
                                 const clang::ASTContext &Context);

/// Returns the text of E in the file; empty if E has no text of its own there.
std::string textOf(const clang::Expr *E, const clang::ASTContext &Context);

/// Returns the location after the statement S and its semicolon; invalid if
/// this location cannot be determined.
clang::SourceLocation endOfStatement(const clang::Stmt *S,
                                     const clang::ASTContext &Context);

/// Returns the range of the statement S with its semicolon, extended to whole
/// lines if these contain nothing else; invalid if the range cannot be
/// determined.
clang::CharSourceRange wholeStatement(const clang::Stmt *S,
                                      const clang::ASTContext &Context);

/// Returns the white space at the beginning of the line that contains Place.
llvm::StringRef indentAt(clang::SourceLocation Place,
                         const clang::ASTContext &Context);

/// Returns true if Range contains preprocessor directives, even in text that an
/// #if excludes.
bool hasDirective(clang::SourceRange Range, const clang::ASTContext &Context);

/// Returns true if a line can be inserted before the one at Place: only white
/// space stands before Place on its line, and it follows a statement or brace.
/// It must not follow a pragma, which applies to the next statement, even if
/// this compilation ignores the pragma.
bool hasRoomBefore(clang::SourceLocation Place,
                   const clang::ASTContext &Context);

/// Returns true if only white space stands before Place on its line.
bool startsLine(clang::SourceLocation Place, const clang::ASTContext &Context);

/// Returns true if the unit names one of these, anywhere. False says without a
/// walk that it does not call it.
bool mentions(const clang::ASTContext &Unit,
              llvm::ArrayRef<llvm::StringRef> Names);

} // namespace vfriendly::tidy

#endif
