//===- ArrayFlows.h - Which names lead to the same arrays -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   double *const values = mats[n]->values;      values <- matrix::values
//   int *row = table->rows[i];                   row <- table::rows[]
//   x = column(a, j);  // returns a + j * n      x <- a
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_ARRAYFLOWS_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_ARRAYFLOWS_H

#include "checkers/numa-placement/UnitValues.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace clang {
class SourceManager;
}

namespace vfriendly::tidy {

/// What an expression that leads to an array names.
struct ArrayPath {
  /// The variable, parameter or field, or the function that returns it.
  const clang::ValueDecl *Root = nullptr;
  /// The number of tables of pointers between Root and the array.
  unsigned Rows = 0;
  /// True if Root is a function, and its address is meant.
  bool IsAddress = false;
};

/// Returns what E may name; empty if that is a new block, or not known.
llvm::SmallVector<ArrayPath, 2> pathsOf(const clang::Expr *E,
                                        const UnitValues &Values);

/// Names arrays for the tool, which compares the names of all units.
class ArrayNames {
public:
  ArrayNames(const UnitValues &Values, const clang::SourceManager &SM)
      : Values(Values), SM(SM) {}

  /// Returns a global variable or field by the name that all units know, `#N`
  /// for the parameter N, `NAME@PLACE` for a local variable, and `SYMBOL()` for
  /// what a function returns, `&SYMBOL` for the function. `[]` follows for each
  /// table of pointers.
  std::string of(const ArrayPath &Path) const;
  std::string of(const clang::ValueDecl &Array) const { return of({&Array}); }

  /// Returns the name of what E leads to; empty if there is none.
  std::string of(const clang::Expr &E) const;

  /// Lists `[to, from]` for each function that gives a pointer or reference to
  /// an array of numbers or structures, or to a function, a value, and for what
  /// it returns.
  llvm::DenseMap<const clang::FunctionDecl *, llvm::json::Array> flows() const;

private:
  const UnitValues &Values;
  const clang::SourceManager &SM;
};

} // namespace vfriendly::tidy

#endif
