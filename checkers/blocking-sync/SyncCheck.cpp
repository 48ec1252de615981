//===- SyncCheck.cpp - What the checks of blocking share ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/SyncCheck.h"

#include "checkers/common/Extent.h"
#include "checkers/common/Kept.h"
#include "checkers/common/PerUnit.h"
#include "vfriendly/Catalogue.h"

#include "clang/AST/ASTContext.h"
#include "clang/ASTMatchers/ASTMatchers.h"

using namespace clang;
using namespace clang::ast_matchers;

namespace vfriendly::tidy {

SyncCheck::SyncCheck(StringRef Name, clang::tidy::ClangTidyContext *Context)
    : ClangTidyCheck(Name, Context), Model(perUnit<SyncModel>()) {}

SyncCheck::~SyncCheck() = default;

void SyncCheck::registerMatchers(MatchFinder *Finder) {
  Finder->addMatcher(
      functionDecl(isDefinition(), unless(isExpansionInSystemHeader()))
          .bind("function"),
      this);
}

void SyncCheck::check(const MatchFinder::MatchResult &Result) {
  const auto &Function = *Result.Nodes.getNodeAs<FunctionDecl>("function");
  Context = Result.Context;
  if (Function.getBody() && !Function.isDependentContext() &&
      !Function.isInvalidDecl())
    Model->add(Function);
}

void SyncCheck::onEndOfTranslationUnit() {
  if (!Context)
    return;
  Model->finish();
  inspect(*Model, *Context);
}

bool SyncCheck::claim(SourceLocation Where, const FunctionDecl *In,
                      const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  return Where.isValid() && !SM.isInSystemHeader(Where) &&
         !SM.isInSystemMacro(Where) && !(In && isKept(*In)) &&
         Claimed.insert(SM.getExpansionLoc(Where)).second;
}

DiagnosticBuilder SyncCheck::report(SourceLocation Where, SourceRange Construct,
                                    const NamedDecl &In, const Twine &Seen,
                                    StringRef Remedy, StringRef Cost) {
  DiagnosticBuilder Report = diag(Where, (Seen + ": " + Cost + "; " + Remedy +
                                          " (" + BlockingSync.Guideline + ")")
                                             .str());
  addExtent(Report, Construct, In);
  return Report;
}

} // namespace vfriendly::tidy
