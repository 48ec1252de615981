//===- Retention.h - Who may remember a pointer -----------------*- C++ -*-===//
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

/// May what Ref names, a local pointer, be known to somebody else after this
/// use? Not if it is only tested, read or written through, released, or given
/// to a function of the C library that forgets it.
bool mayBeKept(const clang::DeclRefExpr &Ref, const FunctionView &View);

/// Are there calls of functions of which nothing is known?
bool callsUnknown(const clang::Stmt *S);

/// May S leave otherwise than by going on: may what it calls jump or throw?
bool mayNotReturn(const clang::Stmt *S);

} // namespace vfriendly::tidy

#endif
