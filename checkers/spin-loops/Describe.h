//===- Describe.h - Text of a report ----------------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_DESCRIBE_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_DESCRIBE_H

#include <string>

namespace clang {
class ASTContext;
class ValueDecl;
} // namespace clang

namespace vfriendly::tidy {

class WrittenWait;
struct TextualWait;

/// Returns the text of the report: the kind of loop, its cost under
/// virtualization, the recommended change, and the guideline page. Notified is
/// the condition variable on which the thread blocks after its polls, if
/// another function wakes it there; else null.
std::string describe(const WrittenWait &Spin, const clang::ValueDecl *Notified);
std::string describe(const TextualWait &Wait, const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
