//===- Extent.h - Source extent of a reported construct ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_EXTENT_H
#define VFRIENDLY_CHECKERS_COMMON_EXTENT_H

#include "clang/Basic/SourceLocation.h"

namespace clang {
class DiagnosticBuilder;
class NamedDecl;
} // namespace clang

namespace vfriendly::tidy {

/// Adds two ranges to a report, for `clang-tidy --export-fixes`, which writes
/// them in this order: the construct, and the name of the function or class
/// that contains it.
///
/// In a review, the tool vfriendly shows a report if its construct has changed,
/// even if the reported line has not. The name identifies a report whose line
/// has moved. Adds nothing if the construct does not lie in one file.
void addExtent(const clang::DiagnosticBuilder &Report,
               clang::SourceRange Construct, const clang::NamedDecl &In);

} // namespace vfriendly::tidy

#endif
