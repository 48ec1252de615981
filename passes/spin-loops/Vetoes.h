//===- Vetoes.h - Code that must not be rewritten ---------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_VETOES_H
#define VFRIENDLY_PASSES_SPINLOOPS_VETOES_H

#include "passes/analysis/common/KeepMarks.h"

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace vfriendly {

struct SpinLoop;
class Writers;

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

/// Returns true if the loop may poll a device register: no store in the module
/// certainly writes the polled memory, and the loop sleeps between polls,
/// whereas a wait for a thread would pause.
bool mayBeDriver(const SpinLoop &S, const Writers &AllWriters);

/// What a module's loops may be given. Must be gathered before anything in the
/// module is changed.
class Vetoes {
public:
  explicit Vetoes(const llvm::Module &M);
  /// Finds signal handlers and the resolvers of ifuncs, which takes longer.
  /// Must be called before mayChangeLoops and whyOnlyPause.
  void findCallbacks();

  const FunctionSet &kept() const { return Keep; }
  /// Returns true if no veto forbids changes of F.
  bool mayChange(const llvm::Function &F, llvm::StringRef *Why = nullptr) const;
  /// Returns true if no veto forbids changes of F's loops.
  bool mayChangeLoops(const llvm::Function &F,
                      llvm::StringRef *Why = nullptr) const;
  /// Returns the reason why loops of F must not call the runtime; empty if they
  /// may.
  llvm::StringRef whyOnlyPause(const llvm::Function &F) const;

private:
  const llvm::Module &M;
  FunctionSet Keep, Handlers, Resolvers;
  bool CheckedForRaces, StrictSeccomp, AsynchronousCancel;
};

} // namespace vfriendly

#endif
