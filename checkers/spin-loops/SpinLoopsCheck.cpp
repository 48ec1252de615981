//===- SpinLoopsCheck.cpp - vfriendly-spin-loops --------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/SpinLoopsCheck.h"

#include "checkers/common/Extent.h"
#include "checkers/common/Kept.h"
#include "checkers/common/Loops.h"
#include "checkers/common/PerUnit.h"
#include "checkers/spin-loops/Describe.h"
#include "checkers/spin-loops/TextualForms.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/Module.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"

#include <utility>

using namespace clang;
using clang::ast_matchers::MatchFinder;

namespace vfriendly::tidy {

SpinLoopsCheck::SpinLoopsCheck(StringRef Name,
                               clang::tidy::ClangTidyContext *Context)
    : ClangTidyCheck(Name, Context), Each(perUnit<EachFunction>()),
      Sleeps(perUnit<SleepClaims>()), Bodies(perUnit<FunctionBodies>()),
      StyleName(Options.get("Style", "spin-then-block")),
      Inserter(Options.getLocalOrGlobal(
                   "IncludeStyle", clang::tidy::utils::IncludeSorter::IS_LLVM),
               areDiagsSelfContained()),
      May(Escaping) {
  if (std::optional<FixStyle> Known = parseStyle(StyleName)) {
    Style = *Known;
    return;
  }
  configurationDiag("invalid value '%0' for option '%1.Style'; expected "
                    "'pause', 'spin-then-block' or 'std-atomic-wait'")
      << StyleName << Name;
}

void SpinLoopsCheck::storeOptions(
    clang::tidy::ClangTidyOptions::OptionMap &Opts) {
  Options.store(Opts, "Style", StyleName);
  Options.store(Opts, "IncludeStyle", Inserter.getStyle());
}

/// Records the last #include of the main file.
class SpinLoopsCheck::IncludeRecorder : public PPCallbacks {
public:
  IncludeRecorder(SpinLoopsCheck &Check, const SourceManager &SM)
      : Check(Check), SM(SM) {}

  void InclusionDirective(SourceLocation HashLoc, const Token &, StringRef,
                          bool, CharSourceRange, OptionalFileEntryRef,
                          StringRef, StringRef, const Module *, bool,
                          SrcMgr::CharacteristicKind) override {
    if (SM.isInMainFile(HashLoc))
      Check.LastInclude = HashLoc;
  }

private:
  SpinLoopsCheck &Check;
  const SourceManager &SM;
};

void SpinLoopsCheck::registerPPCallbacks(const SourceManager &SM,
                                         Preprocessor *PP, Preprocessor *) {
  Inserter.registerPreprocessor(PP);
  PP->addPPCallbacks(std::make_unique<IncludeRecorder>(*this, SM));
}

bool SpinLoopsCheck::canInclude(const ASTContext &Context, FileID File) const {
  const SourceManager &SM = Context.getSourceManager();
  if (SM.isLoadedFileID(File))
    return false;
  const Module *Unit = Context.getCurrentNamedModule();
  if (!Unit || File != SM.getMainFileID())
    return true;
  return LastInclude.isValid() &&
         SM.isBeforeInTranslationUnit(LastInclude, Unit->DefinitionLoc);
}

void SpinLoopsCheck::registerMatchers(MatchFinder *Finder) {
  Each->add(*Finder, *this);
}

void SpinLoopsCheck::visitFunction(const FunctionDecl &Function) {
  const Stmt *Body = Function.getBody();
  if (!Body || Function.isConsteval() || !Visited.insert(Body).second ||
      isKept(Function))
    return;
  if (!Function.isDependentContext()) {
    if (!Function.isInvalidDecl())
      Definitions.push_back(&Function);
    if (!Bodies->of(Function).HasLoop) // Other checks ask that, too.
      return;
  }
  Candidate Found{&Function, loopsOf(Function)};
  if (Found.Loops.empty())
    return;
  if (Function.isDependentContext()) {
    Templates.push_back(std::move(Found));
    return;
  }
  bool IsInstance = Function.getTemplateInstantiationPattern() != nullptr;
  if (IsInstance)
    for (const WrittenLoop &Loop : Found.Loops)
      Examined.insert(Loop.Shape.keyword());
  bool Any = false;
  for (const WrittenLoop &Loop : Found.Loops)
    if (May.wait(Loop.Shape, Function)) {
      Any = true;
      auto Outermost =
          llvm::find_if(Loop.Parents, [](const Stmt *S) { return isLoop(S); });
      if (!Function.isInvalidDecl())
        Lowered.consider(Function, Outermost == Loop.Parents.end()
                                       ? Loop.Shape.Statement
                                       : *Outermost);
    }
  if (!Any) {
    if (IsInstance)
      for (const WrittenLoop &Loop : Found.Loops)
        Varying.insert(Loop.Shape.keyword());
    return;
  }
  Functions.push_back(std::move(Found));
}

void SpinLoopsCheck::check(const MatchFinder::MatchResult &Result) {
  visitFunction(*Result.Nodes.getNodeAs<FunctionDecl>("function"));
}

void SpinLoopsCheck::onEndOfTranslationUnit() {
  ASTContext *Context = Functions.empty()
                            ? nullptr
                            : &Functions.front().Function->getASTContext();
  if (Context && !Lowered.run(*Context, Definitions)) {
    const SourceManager &SM = Context->getSourceManager();
    diag(SM.getLocForStartOfFile(SM.getMainFileID()),
         "loops that may wait were judged by their text alone, as no code can "
         "be generated for this file");
    for (const Candidate &Each : Functions)
      reportForms(Each);
  } else {
    for (const Candidate &Each : Functions)
      findWaits(Each);
  }
  for (WaitIn &Each : Waits) {
    if (Each.Function->getTemplateInstantiationPattern())
      preferTemplate(Each);
    if (!isReportedAtSleep(*Each.Spin) &&
        claim(Each.Spin->Shape,
              Each.Function->getASTContext().getSourceManager()))
      report(*Each.Spin, *Each.Function);
  }
  for (const Candidate &Each : Templates)
    reportForms(Each);
}

bool SpinLoopsCheck::isReportedAtSleep(const WrittenWait &Spin) {
  // Whether a loop that only calls and sleeps waits is for the other check to
  // say, which follows the results of the calls.
  return Spin.Sleeps &&
         (Sleeps->has(Spin.Shape.keyword()) ||
          (Sleeps->Judge && llvm::all_of(Spin.Polls, [](const WrittenPoll &P) {
             return P.Unseen;
           })));
}

void SpinLoopsCheck::preferTemplate(WaitIn &Found) const {
  const FunctionDecl *Pattern =
      Found.Function->getTemplateInstantiationPattern();
  SourceLocation Keyword = Found.Spin->Shape.keyword();
  if (Varying.contains(Keyword))
    return;
  for (const Candidate &Each : Templates)
    for (const WrittenLoop &Loop : Each.Loops)
      if (Each.Function == Pattern && Loop.Shape.keyword() == Keyword) {
        auto Spin = std::make_unique<WrittenWait>(Loop, *Found.Wait, *Pattern,
                                                  Found.Spin->Does.Escaping);
        if (llvm::any_of(Spin->Polls, [](const WrittenPoll &P) {
              return P.Type.isNull() || P.Type->isDependentType();
            }))
          return;
        Spin->HoldsWait = Found.Spin->HoldsWait;
        Spin->OuterTries = Found.Spin->OuterTries;
        Found.Spin = std::move(Spin);
        Found.Function = Pattern;
        return;
      }
}

/// Returns the loops of which Wait consists: those that begin where debug
/// information says or, for gotos, the innermost loop around all polls.
static SmallVector<const WrittenLoop *, 1>
loopsOfWait(const LoweredWait &Wait, ArrayRef<WrittenLoop> Loops,
            const SourceManager &SM) {
  SmallVector<const WrittenLoop *, 1> Found;
  for (const WrittenLoop &Loop : Loops)
    if (!Loop.Shape.backJump() &&
        llvm::any_of(Wait.Loops, [&](const LoweredPlace &Begin) {
          return isAt(SM.getFileLoc(Loop.Shape.keyword()), Begin, SM);
        }))
      Found.push_back(&Loop);
  if (!Found.empty())
    return Found;
  for (const WrittenLoop &Loop : Loops)
    if (llvm::all_of(Wait.Polls, [&](const LoweredPoll &P) {
          return !P.Chain.empty() && contains(Loop.Shape, P.Chain.front(), SM);
        }))
      Found = {&Loop};
  return Found;
}

static bool isInside(const WrittenLoop &Inner, const WrittenLoop &Outer) {
  return llvm::is_contained(Inner.Parents, Outer.Shape.Statement) ||
         llvm::any_of(Inner.Parents, [&](const Stmt *S) {
           return llvm::is_contained(Outer.Shape.Body, S);
         });
}

void SpinLoopsCheck::findWaits(const Candidate &In) {
  const SourceManager &SM = In.Function->getASTContext().getSourceManager();
  std::vector<WaitIn> Found;
  for (const LoweredWait &Wait : Lowered.Found)
    if (Wait.In == In.Function)
      for (const WrittenLoop *Loop : loopsOfWait(Wait, In.Loops, SM)) {
        auto Spin =
            std::make_unique<WrittenWait>(*Loop, Wait, *In.Function, Escaping);
        if (!Spin->Polls.empty() && !Spin->IsDevice && !Spin->IsWork)
          Found.push_back({In.Function, &Wait, std::move(Spin)});
      }
  llvm::stable_sort(Found, [](const WaitIn &A, const WaitIn &B) {
    return &A.Spin->Loop < &B.Spin->Loop;
  });
  for (const WaitIn &Inner : Found)
    for (const WaitIn &Outer : Found)
      if (isInside(Inner.Spin->Loop, Outer.Spin->Loop)) {
        Outer.Spin->HoldsWait |= !Inner.Spin->Counts;
        for (const Rmw &R : Outer.Spin->Does.Rmws)
          Inner.Spin->OuterTries.push_back(R.Site);
      }
  if (In.Function->getTemplateInstantiationPattern())
    for (const WrittenLoop &Loop : In.Loops)
      if (llvm::none_of(Found, [&](const WaitIn &Each) {
            return &Each.Spin->Loop == &Loop && Each.Spin->Doubt.empty();
          }))
        Varying.insert(Loop.Shape.keyword());
  std::move(Found.begin(), Found.end(), std::back_inserter(Waits));
}

void SpinLoopsCheck::reportForms(const Candidate &In) {
  const ASTContext &Context = In.Function->getASTContext();
  for (const WrittenLoop &Loop : In.Loops) {
    if (Examined.contains(Loop.Shape.keyword()))
      continue;
    std::optional<TextualWait> Wait = matchTextualWait(Loop.Shape, Context);
    if (!Wait || !claim(Loop.Shape, Context.getSourceManager()))
      continue;
    DiagnosticBuilder Report = diag(Loop.Shape.keyword(), "%0");
    Report << describe(*Wait, Context);
    addExtent(Report, Loop.Shape.range(), *In.Function);
  }
}

bool SpinLoopsCheck::claim(const LoopShape &Shape, const SourceManager &SM) {
  SourceLocation Keyword = Shape.keyword();
  return !SM.isInSystemHeader(Keyword) && !SM.isInSystemMacro(Keyword) &&
         Reported.insert(SM.getExpansionLoc(Keyword)).second;
}

void SpinLoopsCheck::report(const WrittenWait &Spin,
                            const FunctionDecl &Function) {
  LoopSite Site{Function, Spin.Loop.Parents};
  Fix Edit = reportWithFix(Spin, Site);
  if (!Edit.WhyNot.empty())
    diag(Spin.Shape.keyword(), "no fix: %0", DiagnosticIDs::Note)
        << Edit.WhyNot;
  if (StringRef(Edit.Header).starts_with("vfriendly/") &&
      !std::exchange(SaidRuntime, true))
    diag(
        Spin.Shape.keyword(),
        "the fix calls libvfrt: compile with its headers' folder (-I) and link "
        "with -lvfrt; pkg-config vfriendly has both",
        DiagnosticIDs::Note);
}

Fix SpinLoopsCheck::reportWithFix(const WrittenWait &Spin,
                                  const LoopSite &Site) {
  // As an argument: the text quotes source, and `%` is special in a format.
  DiagnosticBuilder Report = diag(Spin.Shape.keyword(), "%0");
  Report << describe(Spin,
                     Spin.Counts ? Blocks.notified(Site.Function) : nullptr);
  addExtent(Report, Spin.Shape.range(), Site.Function);
  Fix Edit = planFix(Style, Spin, Site, Uses, Names);
  const ASTContext &Context = Spin.Does.Context;
  FileID File = Context.getSourceManager().getFileID(Spin.Shape.keyword());
  if (!Edit.Header.empty() && !canInclude(Context, File)) {
    Edit = Fix();
    Edit.WhyNot = "it needs an #include, and the global fragment of the module "
                  "has none, or is in another unit";
  }
  Report << Edit.Hints;
  if (Edit.Header.empty())
    return Edit;
  Report << Inserter.createIncludeInsertion(File, Edit.Header);
  return Edit;
}

} // namespace vfriendly::tidy
