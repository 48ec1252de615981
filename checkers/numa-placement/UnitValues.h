//===- UnitValues.h - Values that variables are assigned --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_UNITVALUES_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_UNITVALUES_H

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace vfriendly::tidy {

/// An expression, the function that contains it, and the statements around it,
/// the outermost first. An expression in a lambda belongs to the function
/// around the lambda.
struct Site {
  const clang::Expr *E = nullptr;
  const clang::FunctionDecl *In = nullptr;
  llvm::SmallVector<const clang::Stmt *, 8> Parents;
};

/// A value that is assigned or passed to a variable somewhere in the unit.
struct GivenValue {
  enum How {
    Assigned, ///< The value is At.E.
    Stepped,  ///< The variable is changed by a constant: ++, -= 2.
    Unknown   ///< Computed in place, or a pointer or reference to it escapes.
  };
  How Kind = Unknown;
  Site At;
  /// True if the value is passed to a parameter by a call that starts a thread.
  bool StartsThread = false;
};

/// All values that are assigned or passed to the variables, fields and
/// parameters of a translation unit, regardless of order, and the calls by
/// which threads start: pthread_create, thrd_create, std::thread, std::jthread
/// and std::async.
class UnitValues {
public:
  /// Adds the definition of an ordinary function or of a template instance.
  /// Later calls for the same definition have no effect.
  void add(const clang::FunctionDecl &Function);
  void finish() {}

  using ValueRefs = llvm::SmallVector<const GivenValue *, 4>;
  /// Returns the values that are assigned to the variable, field or parameter
  /// itself.
  ValueRefs valuesOf(const clang::ValueDecl &Of) const;
  /// Returns the values that are assigned to the elements of the array Of, or
  /// to the memory that the pointer Of points to.
  ValueRefs elementsOf(const clang::ValueDecl &Of) const;

  /// Returns the expressions that Function returns.
  ValueRefs returnsOf(const clang::FunctionDecl &Function) const;

  /// A value that the function In gives to a pointer or reference.
  struct Flow {
    const clang::FunctionDecl *In;
    /// What is assigned; null if it is Variable, or an element of Variable.
    const clang::Expr *To = nullptr;
    const clang::ValueDecl *Variable = nullptr;
    bool IsElement = false;
    const clang::Expr *From = nullptr;
  };
  /// All values that the unit gives to pointers and references.
  llvm::ArrayRef<Flow> flows() const { return Flows; }

  llvm::ArrayRef<const clang::FunctionDecl *> functions() const {
    return Functions;
  }
  /// The calls of functions with a name, in the order of the functions.
  llvm::ArrayRef<Site> calls() const { return Calls; }
  /// The expressions by which threads start.
  llvm::ArrayRef<Site> threadStarts() const { return Starts; }
  /// Returns true if Function starts threads, or a parallel region, that call a
  /// function or lambda which Function is passed.
  bool callsInThreads(const clang::FunctionDecl *Function) const {
    return Function && Callers.contains(Function->getCanonicalDecl());
  }

private:
  class Collector;
  using Values = llvm::SmallVector<GivenValue, 2>;

  llvm::DenseMap<const clang::ValueDecl *, Values> Given, Elements;
  /// The values that calls pass to each parameter. The key is the function's
  /// first declaration and the index of the parameter.
  llvm::DenseMap<std::pair<const clang::FunctionDecl *, unsigned>, Values>
      Passed;
  llvm::DenseMap<const clang::FunctionDecl *, Values> Returned;
  std::vector<Flow> Flows;
  llvm::DenseSet<const clang::FunctionDecl *> Known;
  llvm::DenseSet<const clang::FunctionDecl *> Callers; ///< callsInThreads
  std::vector<const clang::FunctionDecl *> Functions;
  std::vector<Site> Calls, Starts;
};

/// Returns the variable or field that E names, or whose memory it leads to by
/// dereferences, elements and offsets; null if there is none.
const clang::ValueDecl *rootOf(const clang::Expr *E);

/// Returns E without parentheses, casts and temporaries.
const clang::Expr *stripped(const clang::Expr *E);

} // namespace vfriendly::tidy

#endif
