//===- SerialInitCheck.cpp - vfriendly-numa-placement-serial-init ---------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/Checks.h"

#include "checkers/common/Loops.h"
#include "checkers/common/PerUnit.h"
#include "checkers/common/ProgramFacts.h"
#include "checkers/numa-placement/FirstWriter.h"
#include "checkers/numa-placement/ParallelFix.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns a list of names for a message: `'a', 'b' and 'c'`.
static std::string listOf(ArrayRef<const ValueDecl *> Arrays) {
  std::string Text;
  for (auto [I, Array] : llvm::enumerate(Arrays)) {
    if (I)
      Text += I + 1 == Arrays.size() ? " and " : ", ";
    Text += "'" + Array->getName().str() + "'";
  }
  return Text;
}

DiagnosticBuilder
SerialInitCheck::reportFill(SourceLocation Where, const Stmt &Loop,
                            const FunctionDecl &In,
                            ArrayRef<const ValueDecl *> Arrays) {
  return report(Where, Loop.getSourceRange(), In,
                "one thread fills " + listOf(Arrays) + " before several use " +
                    (Arrays.size() > 1 ? "them" : "it"),
                "fill in parallel, as it is used", "all pages lie on one node");
}

void SerialInitCheck::inspect(const UnitValues &Values,
                              const ASTContext &Context) {
  bool HasThreads = Context.getLangOpts().OpenMP ||
                    !Values.threadStarts().empty() ||
                    llvm::any_of(Values.calls(), [](const Site &Call) {
                      return isParallelAlgorithm(*cast<CallExpr>(Call.E));
                    });
  auto Facts = perUnit<ProgramFacts>();
  if (!HasThreads && !Facts->areWanted())
    return;
  SerialFills Candidates;
  SerialFills Found = findSerialFills(Values, Context, *Facts, Candidates);
  const SourceManager &SM = Context.getSourceManager();
  for (auto &[Loop, Fill] : Candidates) {
    SourceLocation Where = SM.getExpansionLoc(Loop->getBeginLoc());
    const FunctionDecl &In = *Fill.Fill.At.In;
    if (!claim(Where, &In, Context))
      continue;
    reportFill(Where, *Loop, In, Fill.Arrays);
    for (const ValueDecl *Array : Fill.Arrays)
      diag(Where,
           ProgramFacts::condition("fill", ProgramFacts::placeOf(Where, SM) +
                                               " " + Array->getName().str()),
           DiagnosticIDs::Note);
  }
  for (auto &[Loop, Fill] : Found) {
    SourceLocation Where = SM.getExpansionLoc(Loop->getBeginLoc());
    const FunctionDecl &In = *Fill.Fill.At.In;
    if (!claim(Where, &In, Context))
      continue;
    ParallelFix Fix = parallelFix(Fill.Fill, Fill.Use, Values, Context);
    reportFill(Where, *Loop, In, Fill.Arrays) << Fix.Hints;
    diag(SM.getExpansionLoc(Fill.Use.At.E->getBeginLoc()),
         "threads use '%0' here", DiagnosticIDs::Note)
        << Fill.Use.Array->getName();
    if (Fix.Hints.empty())
      diag(Where, "no fix: %0", DiagnosticIDs::Note) << Fix.Reason;
  }
}

} // namespace vfriendly::tidy
