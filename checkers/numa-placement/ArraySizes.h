//===- ArraySizes.h - Arrays that are too small to report -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_ARRAYSIZES_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_ARRAYSIZES_H

#include "checkers/numa-placement/BulkAccess.h"

namespace vfriendly::tidy {

class ArraySizes {
public:
  ArraySizes(const UnitValues &Values, const clang::ASTContext &Context)
      : Values(Values), Context(Context) {}

  /// Returns true if the event is about few bytes, by its loop or by the bounds
  /// of a parameter: `double x[4000]`.
  bool isSmall(const BulkEvent &Event) const;
  /// Returns true if Array is known to have few bytes, or is on a stack.
  bool isSmall(const clang::ValueDecl &Array) const;

private:
  bool isSmall(clang::QualType T) const;
  uint64_t blockSize(const clang::Expr &Block) const;

  const UnitValues &Values;
  const clang::ASTContext &Context;
};

} // namespace vfriendly::tidy

#endif
