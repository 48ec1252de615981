//===- Cold.h - Code that runs too seldom to matter -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_COLD_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_COLD_H

#include "checkers/heap-churn/FunctionView.h"

namespace vfriendly::tidy {

/// Does the program run this loop once, or with a few iterations only: in what
/// its attributes or the words of its name say sets the program up or ends it,
/// over the arguments of main, or for a small constant number of iterations? A
/// name proves nothing, so this only ever keeps a report back.
bool isCold(const clang::Stmt *Loop, const FunctionView &View);

/// Does the loop try again until it succeeds: is its condition a variable that
/// it sets to constants only? It seldom iterates.
bool isRetry(const clang::Stmt *Loop, const FunctionView &View);

} // namespace vfriendly::tidy

#endif
