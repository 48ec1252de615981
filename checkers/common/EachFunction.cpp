//===- EachFunction.cpp - One matcher for all checks of a unit ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/EachFunction.h"

#include "clang/ASTMatchers/ASTMatchers.h"

using namespace clang;
using namespace clang::ast_matchers;

namespace vfriendly::tidy {

void EachFunction::add(MatchFinder &Finder, Callback &Check) {
  if (Checks.empty())
    Finder.addMatcher(
        functionDecl(isDefinition(), unless(isExpansionInSystemHeader()))
            .bind("function"),
        this);
  Checks.push_back(&Check);
}

void EachFunction::run(const MatchFinder::MatchResult &Result) {
  for (Callback *Check : Checks)
    Check->run(Result);
}

void EachFunction::onStartOfTranslationUnit() {
  for (Callback *Check : Checks)
    Check->onStartOfTranslationUnit();
}

void EachFunction::onEndOfTranslationUnit() {
  for (Callback *Check : Checks)
    Check->onEndOfTranslationUnit();
}

} // namespace vfriendly::tidy
