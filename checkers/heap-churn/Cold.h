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

/// Returns true if the program runs Loop seldom or for a few iterations only:
/// Loop is in a function whose attributes or name say that it sets up or ends
/// the program, iterates over the arguments of main, or has a small constant
/// number of iterations. A name proves nothing, so callers use the result only
/// to suppress a report.
bool isCold(const clang::Stmt *Loop, const FunctionView &View);

/// Returns true for the same reasons but the number of iterations: a loop with
/// a few of them in a function that a loop calls runs often.
bool isSeldom(const clang::Stmt *Loop, const FunctionView &View);

/// Returns true if a call of the function opens a file, or starts a thread or a
/// process.
bool opensFile(const FunctionView &View);

/// Returns true if each call of the function opens a file, reads one, or a list
/// of unknown length, to its end, or starts a thread: beside that, a block that
/// the call takes once costs little.
bool isLongCall(const FunctionView &View);

/// Returns true if the attributes or the name of F say that it seldom runs.
bool isColdFunction(const clang::FunctionDecl &F);

/// Returns true if the loop tries again until it succeeds, or is there for its
/// scope and runs once: its condition is a variable that it sets to constants
/// only. Such a loop seldom iterates.
bool isRetry(const clang::Stmt *Loop, const FunctionView &View);

} // namespace vfriendly::tidy

#endif
