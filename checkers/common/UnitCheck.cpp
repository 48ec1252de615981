//===- UnitCheck.cpp - Checks of a whole translation unit -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/UnitCheck.h"

#include "checkers/common/EachFunction.h"
#include "checkers/common/Extent.h"
#include "checkers/common/Kept.h"

#include "clang/AST/ASTContext.h"

using namespace clang;
using clang::ast_matchers::MatchFinder;

namespace vfriendly::tidy {

UnitCheck::UnitCheck(StringRef Name, clang::tidy::ClangTidyContext *Context,
                     const Feature &Of)
    : ClangTidyCheck(Name, Context), Of(Of),
      Functions(perUnit<EachFunction>()) {}

UnitCheck::~UnitCheck() = default;

void UnitCheck::registerMatchers(MatchFinder *Finder) {
  Functions->add(*Finder, *this);
}

void UnitCheck::check(const MatchFinder::MatchResult &Result) {
  const auto &Function = *Result.Nodes.getNodeAs<FunctionDecl>("function");
  Context = Result.Context;
  if (Function.getBody() && !Function.isDependentContext() &&
      !Function.isInvalidDecl())
    add(Function);
}

void UnitCheck::onEndOfTranslationUnit() {
  if (Context)
    finish(*Context);
}

bool UnitCheck::claim(SourceLocation Where, const FunctionDecl *In,
                      const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  return Where.isValid() && !SM.isInSystemHeader(Where) &&
         !SM.isInSystemMacro(Where) && !(In && isKept(*In)) &&
         Claimed.insert(SM.getExpansionLoc(Where)).second;
}

DiagnosticBuilder UnitCheck::report(SourceLocation Where, SourceRange Construct,
                                    const NamedDecl &In, const Twine &Seen,
                                    StringRef Remedy, StringRef Cost) {
  // As an argument: the text quotes source, and `%` is special in a format.
  DiagnosticBuilder Report = diag(Where, "%0");
  Report
      << (Seen + ": " + Cost + "; " + Remedy + " (" + Of.Guideline + ")").str();
  addExtent(Report, Construct, In);
  return Report;
}

} // namespace vfriendly::tidy
