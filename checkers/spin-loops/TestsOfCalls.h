//===- TestsOfCalls.h - Tests of errno and of trylock -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_TESTSOFCALLS_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_TESTSOFCALLS_H

namespace clang {
class ASTContext;
class Expr;
} // namespace clang

namespace vfriendly::tidy {

/// Returns true for errno and similar objects of the calling thread, whose
/// address a function returns.
bool isErrno(const clang::Expr &LValue);

enum class ErrnoTest {
  None,             ///< The condition does not compare errno.
  IsNotInterrupted, ///< errno is not EINTR.
  Other,
};
/// Returns what is known of errno where Condition has the value Holds. A loop
/// that ends if errno is not EINTR repeats a call that a signal has
/// interrupted, and waits for no other thread.
ErrnoTest testOfErrno(const clang::Expr &Condition, bool Holds,
                      const clang::ASTContext &Context);

/// Returns true if Condition has the value Holds only after a failed trylock or
/// trywait. A loop that ends there takes what is available, and does not wait.
bool isFailedTry(const clang::Expr &Condition, bool Holds,
                 const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
