//===- WaitCall.h - Arguments of the runtime's wait -------------*- C++ -*-===//
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

#include "checkers/spin-loops/TuUses.h"
#include "checkers/spin-loops/WrittenWait.h"

#include "clang/Basic/Diagnostic.h"
#include <string>

namespace vfriendly::tidy {

struct WaitCall {
  /// A pointer to the polled object; empty if the source cannot name it.
  std::string Address;
  /// Observed is the value of the polled object while the wait lasts, and Size
  /// the size of the object; both are empty if the runtime must not read the
  /// object.
  std::string Observed, Size;
  bool NoSleep = false;
  bool TryLock = false;
  bool Notified = false;
  /// The writes after which the fix adds a notify; used only if Notified is
  /// set.
  llvm::SmallVector<const WriteSite *, 2> Writes;

  /// The argument `how`.
  std::string how() const;
  std::string textWith(llvm::StringRef State) const;
};

/// Plans the call of the runtime's wait function for the loop Spin. End is the
/// condition by which the poll ends the loop; null if the loop has only this
/// exit.
WaitCall planWait(const WrittenWait &Spin, TuUses &Uses,
                  const Exit *End = nullptr);

/// Returns, as an expression, the constant that the polled object has while the
/// loop iterates, if the loop ends with the first other value; else an empty
/// string. Boolean and pointer constants are spelt for C++ if Spelt is set.
std::string heldValue(const WrittenWait &Spin, const WrittenPoll &P,
                      bool Spelt);

/// Returns all writes of the polled object if each of them is a statement in
/// this file; nullopt if other code may write it. Ignores the loop's own
/// attempts, such as a compare-and-exchange.
std::optional<llvm::SmallVector<const WriteSite *, 2>>
findWrites(const WrittenWait &Spin, const WrittenPoll &P, TuUses &Uses);

/// Returns an expression for the polled object that is valid at the loop; empty
/// if there is none. Sets IsPointer if it is a pointer to the object.
std::string objectText(const WrittenWait &Spin, const WrittenPoll &P,
                       bool &IsPointer);

/// Returns true if Statement already follows the write.
bool isFollowedBy(const WriteSite &W, const std::string &Statement,
                  const clang::ASTContext &Context);

/// Adds Statement after the write W, unless the source or another fix already
/// has Statement there.
void addAfterWrite(const WriteSite &W, const std::string &Statement,
                   TuUses &Uses, const clang::ASTContext &Context,
                   llvm::SmallVectorImpl<clang::FixItHint> &Hints);

} // namespace vfriendly::tidy

#endif
