//===- SyncCheck.h - What the checks of blocking share ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_SYNCCHECK_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_SYNCCHECK_H

#include "checkers/blocking-sync/SyncModel.h"

#include "clang-tidy/ClangTidyCheck.h"
#include "llvm/ADT/DenseSet.h"

namespace vfriendly::tidy {

/// Locks, conditions, semaphores and barriers that spin only while it pays and
/// block without waking each other in vain.
///
/// The part that looks: one check for each way to wait more often than needed,
/// each told what the whole translation unit does. See
/// guidelines/blocking-sync.md.
class SyncCheck : public clang::tidy::ClangTidyCheck {
public:
  SyncCheck(llvm::StringRef Name, clang::tidy::ClangTidyContext *Context);
  ~SyncCheck() override;
  void registerMatchers(clang::ast_matchers::MatchFinder *Finder) override;
  void
  check(const clang::ast_matchers::MatchFinder::MatchResult &Result) override;
  void onEndOfTranslationUnit() override;

protected:
  /// Is called once, when all functions are known.
  virtual void inspect(const SyncModel &Model,
                       const clang::ASTContext &Context) = 0;

  /// Returns true the first time for a place that may be reported: outside of
  /// system headers, not in a function that is to be kept. Instances of a
  /// template share a place.
  bool claim(clang::SourceLocation Where, const clang::FunctionDecl *In,
             const clang::ASTContext &Context);

  /// Says what was seen, what that costs in a virtual machine, what to do, and
  /// where it is explained.
  clang::DiagnosticBuilder report(clang::SourceLocation Where,
                                  const llvm::Twine &Seen,
                                  llvm::StringRef Remedy,
                                  llvm::StringRef Cost = WakeUpCost);
  static constexpr llvm::StringLiteral WakeUpCost =
      "each thread that sleeps and is woken costs a virtual machine up to four "
      "exits";

private:
  class Models;
  std::shared_ptr<Models> Shared;
  const clang::ASTContext *Context = nullptr;
  llvm::DenseSet<clang::SourceLocation> Claimed;
};

} // namespace vfriendly::tidy

#endif
