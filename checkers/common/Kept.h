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

/// Returns true if the author of this function, or of an enclosing one, keeps
/// it as it is by the annotation `vfriendly:keep`.
bool isKept(const clang::FunctionDecl &Function);

} // namespace vfriendly::tidy

#endif
