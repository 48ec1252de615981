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
#include "checkers/common/PerUnit.h"
#include "checkers/spin-loops/Describe.h"

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
      StyleName(Options.get("Style", "spin-then-block")),
      Inserter(Options.getLocalOrGlobal(
                   "IncludeStyle", clang::tidy::utils::IncludeSorter::IS_LLVM),
               areDiagsSelfContained()) {
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
  // Matches functions, not loops: LoopVisitor walks through each function to
  // find the loops and the statements around them.
  Each->add(*Finder, *this);
}

/// Walks a function's statements and judges each loop on the way.
class SpinLoopsCheck::LoopVisitor {
public:
  LoopVisitor(SpinLoopsCheck &Check, const FunctionDecl &Function)
      : Check(Check), Function(Function),
        SM(Function.getASTContext().getSourceManager()) {}

  void visit(const Stmt *S) {
    while (auto *Cast = dyn_cast_or_null<ImplicitCastExpr>(S))
      S = Cast->getSubExpr();
    if (!S || isLeaf(S))
      return;
    if (auto *Lambda = dyn_cast<LambdaExpr>(S)) {
      Check.visitFunction(*Lambda->getCallOperator());
      return;
    }
    size_t Tries = OuterTries.size();
    if (isa<WhileStmt, ForStmt, DoStmt>(S))
      if (LoopShape Shape = shapeOf(S); Shape.Statement)
        tryReport(Shape);
    Parents.push_back(S);
    if (auto *Compound = dyn_cast<CompoundStmt>(S))
      visitSequence(*Compound);
    else
      for (const Stmt *Child : S->children())
        visit(Child);
    Parents.pop_back();
    OuterTries.truncate(Tries);
  }

private:
  /// Judges the loops that consist of a label and the gotos back to it, among
  /// the statements of one block.
  void visitSequence(const CompoundStmt &Block) {
    ArrayRef<Stmt *> Body(Block.body_begin(), Block.size());
    for (size_t I = 0; I != Body.size(); ++I) {
      if (auto *Label = dyn_cast<LabelStmt>(Body[I]))
        tryGoto(*Label, Body.drop_front(I));
      visit(Body[I]);
    }
  }

  void tryGoto(const LabelStmt &Label, ArrayRef<Stmt *> Rest) {
    LoopShape Shape;
    Shape.Head = Label.getDecl();
    size_t Count = 0;
    for (size_t I = 0; I != Rest.size(); ++I)
      if (const GotoStmt *Jump = findGoto(Rest[I], Label.getDecl())) {
        if (!Shape.Statement)
          Shape.Statement = Jump;
        Count = I + 1;
      }
    // A case of a switch around the loop enters the body in its middle, also
    // after a statement that ends it, which the walk of the body does not see.
    if (!Shape.Statement || llvm::any_of(Rest.take_front(Count), isCase))
      return;
    Shape.Body.append(Rest.begin(), Rest.begin() + Count);
    tryReport(Shape);
  }

  static bool isCase(const Stmt *S) {
    while (auto *Label = dyn_cast<LabelStmt>(S))
      S = Label->getSubStmt();
    return isa<SwitchCase>(S);
  }

  static const GotoStmt *findGoto(const Stmt *S, const LabelDecl *Label) {
    if (!S || isa<Expr>(S))
      return nullptr;
    if (auto *Goto = dyn_cast<GotoStmt>(S))
      return Goto->getLabel() == Label ? Goto : nullptr;
    for (const Stmt *Child : S->children())
      if (const GotoStmt *Found = findGoto(Child, Label))
        return Found;
    return nullptr;
  }

  void tryReport(const LoopShape &Shape) {
    SourceLocation Keyword = Shape.keyword();
    if (SM.isInSystemHeader(Keyword) || SM.isInSystemMacro(Keyword))
      return;
    std::optional<SpinLoop> Spin = judgeLoop(Shape, Function, Check.Functions);
    if (!Spin)
      return;
    Spin->OuterTries = OuterTries;
    for (const Rmw &R : Spin->Facts->Rmws)
      OuterTries.push_back(R.Site);
    if (Check.Reported.insert(SM.getExpansionLoc(Keyword)).second)
      Check.report(*Spin, {Function, Parents});
  }

  SpinLoopsCheck &Check;
  const FunctionDecl &Function;
  const SourceManager &SM;
  SmallVector<const Stmt *, 16> Parents;
  /// The read-modify-writes of enclosing waits.
  SmallVector<const Stmt *, 2> OuterTries;
};

void SpinLoopsCheck::visitFunction(const FunctionDecl &Function) {
  const Stmt *Body = Function.getBody();
  if (!Body || !Visited.insert(Body).second || isKept(Function))
    return;
  LoopVisitor(*this, Function).visit(Body);
}

void SpinLoopsCheck::check(const MatchFinder::MatchResult &Result) {
  visitFunction(*Result.Nodes.getNodeAs<FunctionDecl>("function"));
}

void SpinLoopsCheck::report(const SpinLoop &Spin, const LoopSite &Site) {
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

Fix SpinLoopsCheck::reportWithFix(const SpinLoop &Spin, const LoopSite &Site) {
  // As an argument: the text quotes source, and `%` is special in a format.
  DiagnosticBuilder Report = diag(Spin.Shape.keyword(), "%0");
  Report << describe(Spin);
  SourceRange Loop = Spin.Shape.Statement->getSourceRange();
  if (Spin.Shape.backJump() && !Spin.Shape.Body.empty())
    Loop.setBegin(Spin.Shape.Body.front()->getBeginLoc());
  addExtent(Report, Loop, Site.Function);
  Fix Edit = planFix(Style, Spin, Site, Uses, Names);
  const ASTContext &Context = Spin.Facts->Context;
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
