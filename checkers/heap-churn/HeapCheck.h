//===- HeapCheck.h - Base class of the heap-churn checks --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HEAPCHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HEAPCHECK_H

#include "checkers/common/EachFunction.h"
#include "checkers/heap-churn/FunctionView.h"

#include "clang-tidy/ClangTidyCheck.h"
#include "llvm/ADT/DenseSet.h"

namespace vfriendly::tidy {

using FixHints = llvm::SmallVector<clang::FixItHint, 4>;

/// Finds memory that is allocated and freed repeatedly, and keeps it until
/// returning it to the kernel pays.
///
/// The base class of the checks, one check for each behaviour. Each receives
/// the heap operations of a function. See guidelines/heap-churn.md.
class HeapCheck : public clang::tidy::ClangTidyCheck {
public:
  HeapCheck(llvm::StringRef Name, clang::tidy::ClangTidyContext *Context);
  ~HeapCheck() override;
  void registerMatchers(clang::ast_matchers::MatchFinder *Finder) override;
  void
  check(const clang::ast_matchers::MatchFinder::MatchResult &Result) override;

protected:
  /// Inspects one function. The base class calls it for each ordinary function
  /// and each template instance, but not for templates themselves.
  virtual void inspect(FunctionView &View) = 0;

  /// Returns the view of Function, which must have been inspected before. Later
  /// calls of report() then report about Function.
  FunctionView &lookAgain(const clang::FunctionDecl &Function);

  /// Returns true if Where may be reported and has not been claimed before.
  /// Locations in system headers may not be reported; all instances of a
  /// template share one location.
  bool claim(clang::SourceLocation Where, FunctionView &View);

  /// Emits a diagnostic: the finding, its cost in a virtual machine, the
  /// recommended change, and the guideline page.
  clang::DiagnosticBuilder report(clang::SourceLocation Where,
                                  const llvm::Twine &Seen,
                                  llvm::StringRef Remedy,
                                  llvm::StringRef Cost = HeapCost);
  static constexpr llvm::StringLiteral HeapCost =
      "each return to the kernel interrupts every CPU";

private:
  std::shared_ptr<EachFunction> Functions;
  /// The views of one translation unit, shared by all checks that run on it.
  class Views;
  std::shared_ptr<Views> Shared;
  const FunctionView *Inspected = nullptr; ///< During inspect().
  llvm::DenseSet<clang::SourceLocation> Claimed;
};

/// Returns true if a fix-it may change the text of Range: the text is not in a
/// macro or an instance of a template, and contains no preprocessor directive
/// that could select other text.
bool isEditable(clang::SourceRange Range, const FunctionView &View);

} // namespace vfriendly::tidy

#endif
