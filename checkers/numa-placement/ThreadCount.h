//===- ThreadCount.h - Numbers of threads -----------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_THREADCOUNT_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_THREADCOUNT_H

#include "checkers/numa-placement/NumberOrigin.h"

namespace vfriendly::tidy {

/// Recognizes the numbers of threads of a program. An array with one element
/// for each thread is small, and one thread may well fill it.
class ThreadCounts {
public:
  ThreadCounts(const UnitValues &Values, const clang::ASTContext &Context);

  /// Returns true if Number, or the factor of a size in bytes, is the number of
  /// the program's threads: computed from a number of CPUs, the bound of a loop
  /// that starts threads, or so called.
  bool contains(const Site &Number);

private:
  NumberOrigins Origins;
  const clang::ASTContext &Context;
  /// The variables up to which loops count that start threads.
  llvm::DenseSet<const clang::ValueDecl *> Bounds;
};

} // namespace vfriendly::tidy

#endif
