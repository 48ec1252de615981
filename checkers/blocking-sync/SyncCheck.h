//===- SyncCheck.h - Base class of blocking-sync checks ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_SYNCCHECK_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_SYNCCHECK_H

#include "checkers/common/SyncModel.h"
#include "checkers/common/UnitCheck.h"

namespace vfriendly::tidy {

/// Locks, conditions, semaphores and barriers that spin only while that costs
/// less than sleeping, and wake only threads that can proceed.
///
/// The base class of the checks, one check for each kind of unnecessary wait.
/// Each receives a model of the whole translation unit. See
/// guidelines/blocking-sync.md.
class SyncCheck : public UnitCheck {
public:
  SyncCheck(llvm::StringRef Name, clang::tidy::ClangTidyContext *Context);
  ~SyncCheck() override;

protected:
  /// Inspects the unit. Called once, when all functions are known.
  virtual void inspect(const SyncModel &Model,
                       const clang::ASTContext &Context) = 0;

  /// Reports like UnitCheck::report; Cost is by default the cost of a wake-up.
  clang::DiagnosticBuilder
  report(clang::SourceLocation Where, clang::SourceRange Construct,
         const clang::NamedDecl &In, const llvm::Twine &Seen,
         llvm::StringRef Remedy, llvm::StringRef Cost = WakeUpCost) {
    return UnitCheck::report(Where, Construct, In, Seen, Remedy, Cost);
  }
  /// Reports Site, an expression in the function In. Cost is the part of the
  /// message that says what the code costs, by default the cost of a wake-up.
  clang::DiagnosticBuilder
  report(const clang::Expr &Site, const clang::Stmt &Construct,
         const clang::NamedDecl &In, const llvm::Twine &Seen,
         llvm::StringRef Remedy, llvm::StringRef Cost = WakeUpCost) {
    return report(Site.getExprLoc(), Construct.getSourceRange(), In, Seen,
                  Remedy, Cost);
  }
  static constexpr llvm::StringLiteral WakeUpCost =
      "each wake-up costs a virtual machine up to four exits";

private:
  void add(const clang::FunctionDecl &Function) final;
  void finish(clang::ASTContext &Context) final;

  std::shared_ptr<SyncModel> Model; ///< Shared by all checks of the unit.
};

} // namespace vfriendly::tidy

#endif
