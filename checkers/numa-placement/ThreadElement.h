//===- ThreadElement.h - Array elements used by one thread ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_THREADELEMENT_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_THREADELEMENT_H

#include "checkers/numa-placement/NumberOrigin.h"

namespace vfriendly::tidy {

/// An element of an array that only one of several threads uses: its index is
/// the number of the thread, or the thread was started with its address.
struct ThreadElement {
  /// The array, or the pointer or vector that leads to it.
  const clang::ValueDecl *Array;
  clang::QualType Element;
  /// Where the number of the thread comes from: the call that returns it, or
  /// the variable that was passed to the thread.
  const clang::Expr *Number = nullptr;
};

/// Finds the element that a write in a thread changes.
class ThreadElements {
public:
  ThreadElements(const UnitValues &Values, const clang::ASTContext &Context)
      : Values(Values), Origins(Values, Context) {}

  /// Returns the array element that contains Written, an lvalue in the code of
  /// a thread. Returns nothing if another thread may write the same element, or
  /// if this thread may write other elements.
  std::optional<ThreadElement> of(const Site &Written);

private:
  /// The number of variables through which an address has been followed, and
  /// whether the address was passed to a thread when the thread started.
  struct Way {
    unsigned Depth = 0;
    bool Started = false;
  };
  std::optional<ThreadElement> ofPointer(const Site &Pointer, Way By);
  std::optional<ThreadElement> ofLValue(const Site &LValue, Way By);
  /// Returns where the number comes from if it is that of the thread, else
  /// null.
  const clang::Expr *threadNumber(const Site &Index, bool Started);

  const UnitValues &Values;
  NumberOrigins Origins;
};

} // namespace vfriendly::tidy

#endif
