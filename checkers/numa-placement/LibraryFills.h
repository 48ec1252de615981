//===- LibraryFills.h - Arrays that library functions fill ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_LIBRARYFILLS_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_LIBRARYFILLS_H

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"

namespace vfriendly::tidy {

/// A write of all elements of Array; of no array if Array is null.
struct LibraryFill {
  const clang::ValueDecl *Array = nullptr;
  const clang::Expr *Count = nullptr; ///< Null if it is not visible.
  /// The bytes that Count counts; 0 if it counts elements.
  uint64_t Size = 0;
  bool IsZero = false;
  /// True if the call adds an element, so that a loop around it fills.
  bool IsGrowth = false;
  /// True if each element gets a value, so that one which is a vector gets
  /// memory.
  bool HasValue = false;
};

/// Returns what Call, of a function of the C or C++ library, fills.
LibraryFill libraryFill(const clang::CallExpr &Call,
                        const clang::FunctionDecl &Callee,
                        const clang::ASTContext &Context);

/// Returns the fill of Vector, a variable, a member or what is assigned to one,
/// by Init: `std::vector<double>(n)`, `(first, last)`, or a copy of a vector.
LibraryFill constructedFill(const clang::ValueDecl &Vector,
                            const clang::Expr *Init,
                            const clang::ASTContext &Context);

/// Returns the variable or field that E names; null if it is another
/// expression.
const clang::ValueDecl *wholeArray(const clang::Expr *E);

} // namespace vfriendly::tidy

#endif
