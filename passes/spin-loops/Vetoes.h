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
class Loop;
class Module;
} // namespace llvm

namespace vfriendly {

struct Poll;
struct SpinLoop;
class Writers;

/// Returns the reason why F's code must not be changed; empty if it may be.
llvm::StringRef whyKeep(const llvm::Function &F);
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
/// Returns true if P, by which S polls, may read a device register, each read
/// of which may matter: volatile memory without a visible writer. A variable
/// counts as one only where S is bounded: the rewrite of an unbounded wait
/// keeps all reads.
bool mayBeRegister(const Poll &P, const SpinLoop &S, const Writers &AllWriters);

/// What a module's loops may be given. Must be gathered before anything in the
/// module is changed.
class Vetoes {
public:
  explicit Vetoes(const llvm::Module &M);
  /// Finds signal handlers and the resolvers of ifuncs, which takes longer.
  /// Must be called before whyKeepLoop and whyOnlyPause.
  void findCallbacks();

  const FunctionSet &kept() const { return Keep; }
  /// Return the reason why F, or L, a loop of F, must not be changed; empty if
  /// no veto forbids it.
  llvm::StringRef whyKeep(const llvm::Function &F) const;
  llvm::StringRef whyKeepLoop(const llvm::Loop &L,
                              const llvm::Function &F) const;
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
