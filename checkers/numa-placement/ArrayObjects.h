//===- ArrayObjects.h - Which arrays a name stands for ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   double *now = first, *next = second;     now: first, second
//   for (...) { ...; swap = now; now = next; next = swap; }
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_ARRAYOBJECTS_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_ARRAYOBJECTS_H

#include "checkers/numa-placement/UnitValues.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

namespace vfriendly::tidy {

/// What parameters stand for in a call; null if that is not known.
using Bindings =
    llvm::SmallDenseMap<const clang::ValueDecl *, const clang::ValueDecl *, 4>;

class ArrayObjects {
public:
  using Objects = llvm::SmallVector<const clang::ValueDecl *, 2>;

  explicit ArrayObjects(const UnitValues &Values) : Values(Values) {}

  /// Returns the objects that Name may stand for: the array, or the variable
  /// that owns the heap block; none if these are not known, or many.
  Objects objectsOf(const clang::ValueDecl *Name, const Bindings &Bound) const;
  /// Returns the object that Name stands for; null if it may be another.
  const clang::ValueDecl *objectOf(const clang::ValueDecl *Name,
                                   const Bindings &Bound) const;

private:
  bool collect(const clang::ValueDecl *Name, const Bindings &Bound,
               llvm::SmallPtrSetImpl<const clang::ValueDecl *> &Seen,
               Objects &Found) const;

  const UnitValues &Values;
};

} // namespace vfriendly::tidy

#endif
