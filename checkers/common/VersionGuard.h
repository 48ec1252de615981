//===- VersionGuard.h - Refuses another version's clang-tidy ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A clang-tidy of another version loads the module, lists its checks, and then
// finds nothing or crashes. A static VersionGuard ends it before that, with a
// line that says why. It calls one LLVM function, whose name and result have
// not changed between versions, and otherwise only C.
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
