//===- Vetoes.h - Code that must not be rewritten ---------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_VETOES_H
#define VFRIENDLY_PASSES_SPINLOOPS_VETOES_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace vfriendly {

/// Returns true if F's code may be changed. If not, Why is the reason.
bool mayRewrite(const llvm::Function &F, llvm::StringRef *Why = nullptr);
/// Returns true if ThreadSanitizer instruments some function of M. Then no
/// function of M may be changed, because ThreadSanitizer checks the plain
/// accesses of one function against the atomic accesses of all.
bool isCheckedForRaces(const llvm::Module &M);
/// Returns true if M contains a call by which a thread enters seccomp's strict
/// mode: prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), or the same by syscall().
bool entersStrictSeccomp(const llvm::Module &M);
/// Returns true if M contains a call by which a thread may become
/// asynchronously cancellable. Such a thread may call only three functions of
/// POSIX, and therefore must not call the runtime.
bool cancelsAsynchronously(const llvm::Module &M);

} // namespace vfriendly

#endif
