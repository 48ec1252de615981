//===- HeapCheck.cpp - Base class of the heap-churn checks ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/HeapCheck.h"

#include "checkers/common/Kept.h"
#include "checkers/common/PerUnit.h"
#include "checkers/common/SourceText.h"
#include "vfriendly/Catalogue.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace vfriendly::tidy {

/// clang-tidy runs all checks on one function before it goes on to the next, so
/// caching the last view suffices.
class HeapCheck::Views {
public:
  FunctionView &of(const FunctionDecl &Function) {
    if (!Last || &Last->Function != &Function)
      Last = std::make_unique<FunctionView>(Function, Heap);
    return *Last;
  }

private:
  HeapCalls Heap;
  std::unique_ptr<FunctionView> Last;
};

HeapCheck::HeapCheck(StringRef Name, clang::tidy::ClangTidyContext *Context)
    : UnitCheck(Name, Context, HeapChurn), Shared(perUnit<Views>()) {}

HeapCheck::~HeapCheck() = default;

void HeapCheck::add(const FunctionDecl &Function) {
  if (!Function.isConsteval() && !isKept(Function))
    inspect(lookAgain(Function));
}

FunctionView &HeapCheck::lookAgain(const FunctionDecl &Function) {
  FunctionView &View = Shared->of(Function);
  Inspected = &View;
  return View;
}

/// Returns the range of the innermost loop around Where; if there is no loop,
/// Where itself.
static SourceRange loopAround(SourceLocation Where, const FunctionView &View) {
  const SourceManager &SM = View.Context.getSourceManager();
  SourceRange Innermost(Where);
  SourceLocation At = SM.getExpansionLoc(Where);
  for (const Stmt *Loop : View.loops()) {
    SourceRange Range = Loop->getSourceRange();
    SourceLocation Begin = SM.getExpansionLoc(Range.getBegin());
    if (!SM.isPointWithin(At, Begin, SM.getExpansionLoc(Range.getEnd())))
      continue;
    if (Innermost.getBegin() == Where ||
        SM.isBeforeInTranslationUnit(SM.getExpansionLoc(Innermost.getBegin()),
                                     Begin))
      Innermost = Range;
  }
  return Innermost;
}

DiagnosticBuilder HeapCheck::report(SourceLocation Where, const Twine &Seen,
                                    StringRef Remedy, StringRef Cost) {
  return UnitCheck::report(Where, loopAround(Where, *Inspected),
                           Inspected->Function, Seen, Remedy, Cost);
}

bool isEditable(SourceRange Range, const FunctionView &View) {
  return Range.isValid() && !Range.getBegin().isMacroID() &&
         !Range.getEnd().isMacroID() &&
         !View.Function.isTemplateInstantiation() &&
         !hasDirective(Range, View.Context);
}

} // namespace vfriendly::tidy
