//===- AlignFix.h - Aligns elements to cache lines --------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_ALIGNFIX_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_ALIGNFIX_H

#include "checkers/numa-placement/ThreadElement.h"

#include "clang/Basic/Diagnostic.h"
#include <string>

namespace vfriendly::tidy {

/// The cache line of x86-64 and of most AArch64 processors, in bytes.
inline constexpr int64_t CacheLine = 64;

struct AlignFix {
  llvm::SmallVector<clang::FixItHint, 1> Hints;
  /// The reason why there are no Hints.
  std::string Reason;
};

/// Aligns the type of an element to cache lines, if that changes nothing else.
///
/// Alignment makes the type larger, so all code that depends on the type's size
/// would have to change. There is a fix only if the type is a structure of the
/// main file, and no other type contains this structure or derives from it; the
/// array is a variable of array type, or comes from an allocation that respects
/// the alignment (malloc does not); and no code uses sizeof on the type, as
/// code that allocates, copies, sends or maps bytes does.
AlignFix alignFix(const ThreadElement &Element, const UnitValues &Values,
                  const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
