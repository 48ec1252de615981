//===- IdleEffects.h - What statements do beside looking --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   IdleEffects Does(Model, Context);
//   if (Does.effectOf(S, F) == IdleEffect::Works) ... an iteration with S works
//
// Says of each statement whether a thread that runs it only looks at what other
// threads or the kernel have done, asks for something that it may not get yet,
// or works. A function that is visible is judged by its body.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_IDLEEFFECTS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_IDLEEFFECTS_H

#include "checkers/common/SyncModel.h"

namespace vfriendly::tidy {

enum class IdleEffect {
  None,   ///< Changes only what the thread alone has.
  Looks,  ///< Reads what other threads may change.
  Clock,  ///< Reads a clock.
  Locks,  ///< Takes or releases a lock.
  Prints, ///< Says what it does.
  Asks,   ///< Does nothing if its result says that nothing was there.
  Tries,  ///< Asks for a lock, or for a word.
  Works
};

class IdleEffects {
public:
  IdleEffects(const SyncModel &Model, const clang::ASTContext &Context)
      : Model(Model), Context(Context) {}

  /// Returns the effect of S, a statement of F, without those of its parts.
  IdleEffect effectOf(const clang::Stmt *S, const FunctionSync &F);

  /// Returns true if Call may open or make something: it fails for want of what
  /// a wait for an event cannot give.
  bool mayOpen(const clang::CallExpr &Call);

private:
  IdleEffect effectOfCall(const clang::CallExpr &Call, const FunctionSync &F);
  IdleEffect effectOfBody(const clang::FunctionDecl &Callee);
  IdleEffect effectOfMethod(const clang::CallExpr &Call,
                            const clang::CXXMethodDecl &Method);
  bool opens(const clang::FunctionDecl &Callee, unsigned Depth);

  const SyncModel &Model;
  const clang::ASTContext &Context;
  unsigned Depth = 0; ///< Of bodies that are being judged.
  /// What functions do that are called at a depth. The depth decides how far
  /// their callees are followed, so that no order of questions changes answers.
  llvm::DenseMap<std::pair<const clang::FunctionDecl *, unsigned>, IdleEffect>
      Known;
};

/// Returns the local variable, or the parameter, of which E names a part that
/// is in the variable itself; null if E is behind a pointer or shared.
const clang::VarDecl *localIn(const clang::Expr *E);

/// Returns true for a read of errno.
bool isErrno(const clang::Stmt *S);

} // namespace vfriendly::tidy

#endif
