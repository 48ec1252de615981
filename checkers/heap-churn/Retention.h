//===- Retention.h - Uses that may keep a pointer ---------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_RETENTION_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_RETENTION_H

#include "checkers/heap-churn/FunctionView.h"

namespace vfriendly::tidy {

/// Returns true if the pointer may escape at Ref, which names a local variable.
/// The pointer does not escape if Ref is only tested, read or written through,
/// released, or passed to a function of the C library that does not keep its
/// argument.
bool mayBeKept(const clang::DeclRefExpr &Ref, const FunctionView &View);

/// Returns true if S calls a function whose effects are unknown.
bool callsUnknown(const clang::Stmt *S);

/// Returns true if S may not complete because S, or a function that it calls,
/// may throw or jump.
bool mayNotReturn(const clang::Stmt *S);

} // namespace vfriendly::tidy

#endif
