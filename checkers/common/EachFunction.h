//===- EachFunction.h - One matcher for all checks of a unit ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Functions(perUnit<EachFunction>())              // in the constructor
//   Functions->add(*Finder, *this);                 // in registerMatchers
//   Result.Nodes.getNodeAs<FunctionDecl>("function") // in check
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_EACHFUNCTION_H
#define VFRIENDLY_CHECKERS_COMMON_EACHFUNCTION_H

#include "clang/ASTMatchers/ASTMatchFinder.h"
#include "llvm/ADT/SmallVector.h"

namespace vfriendly::tidy {

/// Calls the checks of a translation unit for each function definition outside
/// of system headers, in the order in which they were added.
///
/// With one AST matcher per check, each declaration in each header would be
/// tried by each matcher; in C that took longer than the checks themselves.
/// clang-tidy's profile therefore shows all checks as one.
class EachFunction : public clang::ast_matchers::MatchFinder::MatchCallback {
public:
  using Callback = clang::ast_matchers::MatchFinder::MatchCallback;

  /// Calls Check.run with the function bound to "function", and Check's
  /// callbacks for the begin and end of the unit. pre: Finder is the same at
  /// each call; Check lives as long as Finder is used, and holds this object.
  void add(clang::ast_matchers::MatchFinder &Finder, Callback &Check);

  void
  run(const clang::ast_matchers::MatchFinder::MatchResult &Result) override;
  void onStartOfTranslationUnit() override;
  void onEndOfTranslationUnit() override;
  llvm::StringRef getID() const override { return "vfriendly-*"; }

private:
  llvm::SmallVector<Callback *, 16> Checks;
};

} // namespace vfriendly::tidy

#endif
