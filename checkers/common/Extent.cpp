//===- Extent.cpp - Source extent of a reported construct -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/Extent.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns Function; for a lambda, the innermost named function around the
/// lambda.
static const FunctionDecl &namedAround(const FunctionDecl &Function) {
  const FunctionDecl *Named = &Function;
  for (const DeclContext *C = &Function; C; C = C->getParent())
    if (auto *F = dyn_cast<FunctionDecl>(C)) {
      Named = F;
      auto *Method = dyn_cast<CXXMethodDecl>(F);
      if (!Method || !Method->getParent()->isLambda())
        break;
    }
  return *Named;
}

static SourceRange nameOf(const NamedDecl &In) {
  auto *Given = dyn_cast<FunctionDecl>(&In);
  if (!Given)
    return In.getLocation();
  const FunctionDecl &Function = namedAround(*Given);
  SourceRange Name = Function.getNameInfo().getSourceRange();
  if (NestedNameSpecifierLoc Qualifier = Function.getQualifierLoc())
    Name.setBegin(Qualifier.getBeginLoc());
  return Name;
}

void addExtent(const DiagnosticBuilder &Report, SourceRange Construct,
               const NamedDecl &In) {
  const ASTContext &Context = In.getASTContext();
  // Replaces a location inside a macro by the place where the macro is
  // expanded, because clang-tidy writes offsets in files.
  auto inFile = [&](SourceRange Range) {
    return Lexer::makeFileCharRange(
        Context.getSourceManager().getExpansionRange(Range),
        Context.getSourceManager(), Context.getLangOpts());
  };
  CharSourceRange What = inFile(Construct);
  CharSourceRange Where = inFile(nameOf(In));
  if (What.isValid() && Where.isValid())
    Report << What << Where;
}

} // namespace vfriendly::tidy
