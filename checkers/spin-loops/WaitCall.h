//===- WaitCall.h - What to tell the runtime about a wait -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   WaitCall Wait = planWait(Spin, Uses);
//   Wait.textWith("state"); // vf_spin_wait(&flag, 0, state, sizeof(flag))
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_WAITCALL_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_WAITCALL_H

#include "checkers/spin-loops/SpinLoop.h"
#include "checkers/spin-loops/TuUses.h"

#include "clang/Basic/Diagnostic.h"
#include <string>

namespace vfriendly::tidy {

struct WaitCall {
  /// A pointer to what is polled; empty where it cannot be named.
  std::string Address;
  /// What it holds as long as the wait lasts, and how wide it is; empty where
  /// the runtime must not look.
  std::string Observed, Size;
  bool NoSleep = false;
  bool TryLock = false;
  bool Notified = false;
  /// Writes that still need a notify for Notified to be the truth.
  llvm::SmallVector<const WriteSite *, 2> Writes;

  std::string textWith(llvm::StringRef State) const;
};

WaitCall planWait(const SpinLoop &Spin, TuUses &Uses);

/// The constant that the polled object holds while the loop iterates, if the
/// loop ends with the first other value: an expression, or empty. Boolean and
/// pointer constants are spelt for C++ if Spelt.
std::string heldValue(const SpinLoop &Spin, const Poll &P, bool Spelt);

/// All writes of what is polled, if each is a statement of this file; nullopt
/// if somebody else may write it. The loop's own tries do not count.
std::optional<llvm::SmallVector<const WriteSite *, 2>>
findWrites(const SpinLoop &Spin, const Poll &P, TuUses &Uses);

/// The text of the polled object, usable at the loop; empty if there is none.
/// IsPointer: the text is that of a pointer to it.
std::string objectText(const SpinLoop &Spin, const Poll &P, bool &IsPointer);

/// Returns true if Statement follows the write already.
bool isFollowedBy(const WriteSite &W, const std::string &Statement,
                  const clang::ASTContext &Context);

/// Adds a statement behind a write, once.
void addAfterWrite(const WriteSite &W, const std::string &Statement,
                   TuUses &Uses, const clang::ASTContext &Context,
                   llvm::SmallVectorImpl<clang::FixItHint> &Hints);

} // namespace vfriendly::tidy

#endif
