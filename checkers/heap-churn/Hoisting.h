//===- Hoisting.h - Moving declarations out of loops ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HOISTING_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HOISTING_H

#include "checkers/heap-churn/FunctionView.h"

namespace vfriendly::tidy {

/// Returns true if statements can be inserted directly before and after the
/// loop, and run whenever the loop does.
bool hasRoomAround(const clang::Stmt *Loop, const FunctionView &View);

/// Returns true if the name of Variable means Variable, and nothing else, in
/// the whole function.
bool isOnlyOne(const clang::VarDecl &Variable, const FunctionView &View);

/// Returns true if code outside of the loop can name the type of Variable.
bool isTypeOfFile(const clang::VarDecl &Variable);

} // namespace vfriendly::tidy

#endif
