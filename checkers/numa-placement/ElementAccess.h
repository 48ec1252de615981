//===- ElementAccess.h - Elements of arrays and vectors ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_ELEMENTACCESS_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_ELEMENTACCESS_H

#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>

namespace vfriendly::tidy {

/// Returns true if T is one of the class templates Names of the standard
/// library.
bool isOfStdClass(clang::QualType T, llvm::ArrayRef<llvm::StringRef> Names);

/// Returns true for v[i] of a std::vector or std::array.
bool isElementOfVector(const clang::CXXOperatorCallExpr &Call);

struct ArrayElement {
  const clang::Expr *Base, *Index;
};
/// Returns the parts of a[i], of an array or a std::vector or std::array, of
/// *(a + i), and of m(i, j) or *at(a, i) if a function returns the element; its
/// call stands for the index then.
std::optional<ArrayElement> elementIn(const clang::Expr *E);

/// Returns true if Field is the array or vector of a container class: elements
/// of it are what operator[] or operator() of its class returns. An object of
/// such a class stands for its array, as a std::vector does.
bool isStorage(const clang::ValueDecl &Field);

/// Returns the object of a call of a member function; null if it is none.
const clang::Expr *objectOf(const clang::CallExpr &Call);

/// Returns true if the expression in Parents is a part of a larger subscript
/// expression: a[i] in a[i][j].
bool isPartOfElement(llvm::ArrayRef<const clang::Stmt *> Parents);

/// Returns the part of Element that an assignment around Element, in Parents,
/// writes: Element itself or a member; null if no assignment writes it.
const clang::Expr *writtenPart(const clang::Expr &Element,
                               llvm::ArrayRef<const clang::Stmt *> Parents);

/// Returns true if the element Whole, in Parents, is a small array, such as the
/// coordinates of a point, that is passed to a function which may write it.
bool isLentRow(const clang::Expr &Whole,
               llvm::ArrayRef<const clang::Stmt *> Parents);

/// Returns true if what Parents are about is read from a file or text:
/// `scanf("%d", &x[i])`, `in >> x[i]`.
bool isInput(llvm::ArrayRef<const clang::Stmt *> Parents);

/// Returns true if E reads a pointer from an array of pointers or through
/// another pointer. The pointer's target lies outside of that array or object.
bool isLoaded(const clang::Expr &E);

} // namespace vfriendly::tidy

#endif
