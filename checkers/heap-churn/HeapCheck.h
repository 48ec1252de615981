//===- HeapCheck.h - What the checks of heap churn share --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HEAPCHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HEAPCHECK_H

#include "checkers/heap-churn/FunctionView.h"

#include "clang-tidy/ClangTidyCheck.h"
#include "llvm/ADT/DenseSet.h"

namespace vfriendly::tidy {

using FixHints = llvm::SmallVector<clang::FixItHint, 4>;

/// Finds memory that is taken and given back again and again, and keeps it
/// until giving it back pays.
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
  /// Called for each function that is compiled as written: not for a template,
  /// but for its instances.
  virtual void inspect(FunctionView &View) = 0;

  /// Returns true on the first call for a place that may be reported. System
  /// headers may not; instances of a template share one place.
  bool claim(clang::SourceLocation Where, FunctionView &View);

  /// Emits a diagnostic: what was seen, what it costs in a virtual machine,
  /// what to do, and the page of the guideline.
  clang::DiagnosticBuilder report(clang::SourceLocation Where,
                                  const llvm::Twine &Seen,
                                  llvm::StringRef Remedy,
                                  llvm::StringRef Cost = HeapCost);
  static constexpr llvm::StringLiteral HeapCost =
      "what the heap gives back to the kernel interrupts every CPU of the "
      "process, in a virtual machine with an exit each";

private:
  /// The views of one translation unit, shared by all checks that run on it.
  class Views;
  std::shared_ptr<Views> Shared;
  const FunctionView *Inspected = nullptr; ///< During inspect().
  llvm::DenseSet<clang::SourceLocation> Claimed;
};

/// Returns true if the text of this range may be changed: it is written in the
/// file as it stands, in no macro and no instance of a template, and is the
/// same for every #if.
bool isEditable(clang::SourceRange Range, const FunctionView &View);

} // namespace vfriendly::tidy

#endif
