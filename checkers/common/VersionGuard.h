//===- VersionGuard.h - Refuses another version's clang-tidy ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A clang-tidy of another version loads the module and lists its checks, and
// then finds nothing or crashes. A static VersionGuard ends such a clang-tidy
// with an error message when the module is loaded. It calls only one function
// of clang, whose name and result type are the same in all versions, and
// otherwise only the standard library.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_VERSIONGUARD_H
#define VFRIENDLY_CHECKERS_COMMON_VERSIONGUARD_H

namespace vfriendly::tidy {

struct VersionGuard {
  VersionGuard();
};

} // namespace vfriendly::tidy

#endif
