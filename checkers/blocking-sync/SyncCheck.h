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
/// The base class of the checks, one check for each kind of unnecessary wait.
/// Each receives a model of the whole translation unit. See
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
  /// Inspects the unit. Called once, when all functions are known.
  virtual void inspect(const SyncModel &Model,
                       const clang::ASTContext &Context) = 0;

  /// Returns true on the first call for a place that may be reported: not in a
  /// system header, and not in a function that is kept as it is. Instances of a
  /// template share one place.
  bool claim(clang::SourceLocation Where, const clang::FunctionDecl *In,
             const clang::ASTContext &Context);

  /// Emits a diagnostic: what was seen, what it costs in a virtual machine,
  /// what to do, and the page of the guideline. Construct is the report's
  /// extent, in the function or class In.
  clang::DiagnosticBuilder
  report(clang::SourceLocation Where, clang::SourceRange Construct,
         const clang::NamedDecl &In, const llvm::Twine &Seen,
         llvm::StringRef Remedy, llvm::StringRef Cost = WakeUpCost);
  /// The same for an expression in a function.
  clang::DiagnosticBuilder
  report(const clang::Expr &Site, const clang::Stmt &Construct,
         const clang::NamedDecl &In, const llvm::Twine &Seen,
         llvm::StringRef Remedy, llvm::StringRef Cost = WakeUpCost) {
    return report(Site.getExprLoc(), Construct.getSourceRange(), In, Seen,
                  Remedy, Cost);
  }
  static constexpr llvm::StringLiteral WakeUpCost =
      "each thread that sleeps and is woken costs a virtual machine up to four "
      "exits";

private:
  std::shared_ptr<SyncModel> Model; ///< Shared by all checks of the unit.
  const clang::ASTContext *Context = nullptr;
  llvm::DenseSet<clang::SourceLocation> Claimed;
};

} // namespace vfriendly::tidy

#endif
