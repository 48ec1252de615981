//===- HeapCheck.h - Base class of the heap-churn checks --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HEAPCHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HEAPCHECK_H

#include "checkers/common/UnitCheck.h"
#include "checkers/heap-churn/FunctionView.h"

namespace vfriendly::tidy {

using FixHints = llvm::SmallVector<clang::FixItHint, 4>;

/// Finds memory that is allocated and freed repeatedly, and keeps it until
/// returning it to the kernel pays.
///
/// The base class of the checks, one check for each behaviour. Each receives
/// the heap operations of a function. See guidelines/heap-churn.md.
class HeapCheck : public UnitCheck {
public:
  HeapCheck(llvm::StringRef Name, clang::tidy::ClangTidyContext *Context);
  ~HeapCheck() override;

protected:
  /// Inspects one function that UnitCheck::add gets, unless it is kept.
  virtual void inspect(FunctionView &View) = 0;
  void finish(clang::ASTContext &) override {}

  /// Returns the view of Function, which must have been inspected before. Later
  /// calls of report() then report about Function.
  FunctionView &lookAgain(const clang::FunctionDecl &Function);

  bool claim(clang::SourceLocation Where, FunctionView &View) {
    return UnitCheck::claim(Where, nullptr, View.Context);
  }

  /// Reports like UnitCheck::report, with the innermost loop as extent.
  clang::DiagnosticBuilder report(clang::SourceLocation Where,
                                  const llvm::Twine &Seen,
                                  llvm::StringRef Remedy,
                                  llvm::StringRef Cost = HeapCost);
  static constexpr llvm::StringLiteral HeapCost =
      "each return to the kernel interrupts every CPU";

private:
  void add(const clang::FunctionDecl &Function) final;

  /// The views of one translation unit, shared by all checks that run on it.
  class Views;
  std::shared_ptr<Views> Shared;
  const FunctionView *Inspected = nullptr; ///< During inspect().
};

/// Returns true if a fix-it may change the text of Range: the text is not in a
/// macro or an instance of a template, and contains no preprocessor directive
/// that could select other text.
bool isEditable(clang::SourceRange Range, const FunctionView &View);

} // namespace vfriendly::tidy

#endif
