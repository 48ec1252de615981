//===- Kept.h - Functions marked vfriendly:keep -----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_KEPT_H
#define VFRIENDLY_CHECKERS_COMMON_KEPT_H

namespace clang {
class FunctionDecl;
} // namespace clang

namespace vfriendly::tidy {

/// Returns true if Function, or a function around it, has the annotation
/// `vfriendly:keep`, which asks the checks not to report the function.
bool isKept(const clang::FunctionDecl &Function);

} // namespace vfriendly::tidy

#endif
