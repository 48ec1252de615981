//===- SpinNames.h - Spin locks by the names of functions -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a function does to a spin lock, if only its name or that of its type
// tells: pthread_spin_lock, SpinLockAcquire, releaseSpinLock, SpinLock::lock.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_SPINNAMES_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_SPINNAMES_H

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"

namespace vfriendly::tidy {

enum class SpinOp {
  None,
  Try, ///< May take it; the result tells.
  Acquire,
  Release
};

/// Returns what a function or macro of this name does to a spin lock.
SpinOp spinOpByName(llvm::StringRef Name);

/// Returns what a method of this name does, if its class is a spin lock: lock,
/// wr_lock, unlock_shared.
SpinOp spinOpOfMethod(llvm::StringRef Name);

/// Returns what a function of another unit does to its argument, if that is a
/// lock which is spun on.
SpinOp spinOpByArgument(const clang::FunctionDecl &Callee);

/// Returns true if a function of this name releases something.
bool namesRelease(llvm::StringRef Name);

/// Returns true for the name of a spin lock's class.
bool namesSpin(llvm::StringRef Name);

/// Returns true if the type by which E was declared is called a spin lock.
bool isDeclaredSpin(const clang::Expr *E);

/// Returns true for the name of a class that holds a spin lock while it exists.
bool namesSpinGuard(llvm::StringRef Name);

/// Returns true for the name of a guard's method that releases the lock early.
bool isReleaseOfGuard(llvm::StringRef Name);

} // namespace vfriendly::tidy

#endif
