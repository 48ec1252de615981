//===- LoopEdit.cpp - Edits of a loop's source text -----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/LoopEdit.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace vfriendly::tidy {

static void collectJumps(
    const Stmt *S, SmallVectorImpl<const Stmt *> &Path, const LabelDecl *To,
    unsigned &Labels,
    SmallVectorImpl<std::pair<const GotoStmt *, const Stmt *>> &Jumps) {
  if (!S)
    return;
  if (auto *Goto = dyn_cast<GotoStmt>(S); Goto && Goto->getLabel() == To)
    Jumps.push_back({Goto, Path.empty() ? nullptr : Path.back()});
  Labels += isa<LabelStmt>(S) || isa<IndirectGotoStmt>(S);
  Path.push_back(S);
  for (const Stmt *Child : S->children())
    collectJumps(Child, Path, To, Labels, Jumps);
  Path.pop_back();
}

static unsigned countLabels(const Stmt *S) {
  SmallVector<const Stmt *, 16> Path;
  SmallVector<std::pair<const GotoStmt *, const Stmt *>, 2> Jumps;
  unsigned Labels = 0;
  collectJumps(S, Path, nullptr, Labels, Jumps);
  return Labels;
}

LoopEdit::LoopEdit(const WrittenWait &Spin, const LoopSite &Site)
    : Spin(Spin), Site(Site), Shape(Spin.Shape), Context(Spin.Does.Context),
      SM(Context.getSourceManager()) {}

void LoopEdit::insert(SourceLocation Place, const Twine &Text) {
  Hints.push_back(FixItHint::CreateInsertion(Place, Text.str()));
}

/// Returns true if S is the only spin hint of the loop, or calls a small
/// function that contains the only hint.
bool LoopEdit::isOnlyHint(const Stmt *S) const {
  return Spin.Does.Hints.size() == 1 && Spin.Does.isHintCall(S);
}

bool LoopEdit::replaceHint(const Stmt *S, StringRef Call) {
  if (KeepsHints || !isOnlyHint(S))
    return false;
  CharSourceRange Range = fileRange(S, Context);
  if (Range.isInvalid() || endOfStatement(S, Context).isInvalid())
    return false;
  Hints.push_back(FixItHint::CreateReplacement(Range, Call));
  return true;
}

/// Returns the indentation of the statements of a block relative to its closing
/// brace; two blanks if the block does not show it.
static StringRef stepOfIndent(const CompoundStmt &Block,
                              const ASTContext &Context) {
  StringRef Outer = indentAt(Block.getRBracLoc(), Context);
  SourceLocation First =
      Block.body_empty() ? SourceLocation() : Block.body_front()->getBeginLoc();
  if (First.isInvalid() || First.isMacroID() || !startsLine(First, Context))
    return "  ";
  StringRef Step = indentAt(First, Context);
  return Step.consume_front(Outer) && !Step.empty() ? Step : "  ";
}

bool LoopEdit::waitInBlock(const CompoundStmt &Block, StringRef Call) {
  if (Block.getLBracLoc().isMacroID() || Block.getRBracLoc().isMacroID())
    return false;
  for (const Stmt *Child : Block.body())
    if (replaceHint(Child, Call))
      return true;
  StringRef Indent = indentAt(Shape.keyword(), Context);
  if (hasContinue(&Block))
    return waitInHead(Call);
  SourceLocation End = Block.getRBracLoc();
  if (startsLine(End, Context))
    insert(End, stepOfIndent(Block, Context) + Call + ";\n" +
                    indentAt(End, Context));
  else if (Block.body_empty())
    insert(End, "\n" + Indent + "  " + Call + ";\n" + Indent);
  else
    insert(End, Call + "; ");
  return true;
}

bool LoopEdit::waitInHead(StringRef Call) {
  SourceLocation End = Shape.HeadEnd;
  if (auto *While = dyn_cast<WhileStmt>(Shape.Statement)) {
    CharSourceRange Begin =
        CharSourceRange::getTokenRange(Shape.keyword(), While->getLParenLoc());
    if (Begin.getEnd().isMacroID() || End.isMacroID())
      return false;
    Hints.push_back(FixItHint::CreateReplacement(Begin, "for (; "));
    insert(End, "; " + Call);
    return true;
  }
  if (!isa<ForStmt>(Shape.Statement) || End.isMacroID())
    return false;
  if (!Shape.Increment) {
    insert(End, " " + Call);
    return true;
  }
  // Before the increment, as at the end of the body.
  SourceLocation Begin = Shape.Increment->getBeginLoc();
  if (Begin.isMacroID() || Shape.Increment->getType()->isRecordType())
    return false; // The latter may have a comma operator of its own.
  insert(Begin, Call + ", ");
  return true;
}

bool LoopEdit::waitInStatement(const Stmt *Body, StringRef Call) {
  if (auto *Block = dyn_cast<CompoundStmt>(Body))
    return waitInBlock(*Block, Call);
  StringRef Indent = indentAt(Shape.keyword(), Context);
  SourceLocation HeadEnd =
      Lexer::getLocForEndOfToken(Shape.HeadEnd, 0, SM, Context.getLangOpts());
  if (auto *Empty = dyn_cast<NullStmt>(Body)) {
    SourceLocation Semi = Empty->getSemiLoc();
    if (Semi.isMacroID())
      return false;
    std::string Text = (Call + ";").str();
    if (startsLine(Semi, Context)) {
      Hints.push_back(FixItHint::CreateReplacement(SourceRange(Semi), Text));
      return true;
    }
    Text = ("\n" + Indent + "  " + Text).str();
    CharSourceRange Gap = CharSourceRange::getCharRange(HeadEnd, Semi);
    bool Blank =
        HeadEnd.isValid() && HeadEnd.isFileID() &&
        Lexer::getSourceText(Gap, SM, Context.getLangOpts()).trim().empty();
    Hints.push_back(FixItHint::CreateReplacement(
        CharSourceRange::getCharRange(Blank ? HeadEnd : Semi,
                                      Semi.getLocWithOffset(1)),
        Text));
    return true;
  }
  if (replaceHint(Body, Call))
    return true;
  SourceLocation End = endOfStatement(Body, Context);
  if (End.isInvalid() || HeadEnd.isInvalid() || HeadEnd.isMacroID() ||
      hasContinue(Body))
    return false;
  insert(HeadEnd, " {");
  insert(End, "\n" + Indent + "  " + Call + ";\n" + Indent + "}");
  return true;
}

bool LoopEdit::waitInCondition(StringRef Call) {
  CharSourceRange Range = fileRange(Shape.Condition, Context);
  if (Range.isInvalid())
    return false;
  // clang-tidy would put text inserted where a replacement begins behind it.
  auto *Replaced = llvm::find_if(Hints, [&](const FixItHint &Hint) {
    return Hint.RemoveRange.getBegin() == Range.getBegin();
  });
  if (Replaced != Hints.end())
    Replaced->CodeToInsert.insert(0, "(");
  else
    insert(Range.getBegin(), "(");
  insert(Range.getEnd(), ") && (" + Call + ") != 0");
  return true;
}

bool LoopEdit::waitBeforeGotos(StringRef Call) {
  SmallVector<const Stmt *, 16> Path;
  SmallVector<std::pair<const GotoStmt *, const Stmt *>, 2> All, Inside;
  unsigned Labels = 0, Ignored = 0;
  collectJumps(Site.Function.getBody(), Path, Shape.Head, Labels, All);
  for (const Stmt *S : Shape.Body)
    collectJumps(S, Path, Shape.Head, Ignored, Inside);
  // Rejects a jump into the loop, or past the declaration.
  if (All.size() != Inside.size() || Labels != 1)
    return false;
  for (auto [Goto, Parent] : Inside) {
    SourceLocation Begin = Goto->getBeginLoc();
    SourceLocation End = endOfStatement(Goto, Context);
    if (Begin.isMacroID() || End.isInvalid())
      return false;
    if (Parent && isa<CompoundStmt>(Parent)) {
      insert(Begin, Call + ";\n" + indentAt(Begin, Context));
      continue;
    }
    insert(Begin, "{ " + Call + "; ");
    insert(End, " }");
  }
  return true;
}

bool LoopEdit::waitInBody(StringRef Call, bool HasValue) {
  if (Shape.keyword().isMacroID())
    return false;
  if (Shape.backJump())
    return waitBeforeGotos(Call);
  const Stmt *Body = Shape.Body.front();
  if (!Shape.TestsLast)
    return waitInStatement(Body, Call);
  if (!HasValue)
    return !hasContinue(Body) && waitInStatement(Body, Call);
  // Does not insert Call into the body of a do loop, where Call would delay the
  // first test. Instead, replaces a hint by Call, or adds Call to the
  // condition.
  if (auto *Block = dyn_cast<CompoundStmt>(Body))
    for (const Stmt *Child : Block->body())
      if (replaceHint(Child, Call))
        return true;
  return replaceHint(Body, Call) || waitInCondition(Call);
}

bool LoopEdit::declareBefore(StringRef Declaration) {
  const Stmt *Loop = Shape.backJump() ? Shape.Body.front() : Shape.Statement;
  SourceLocation Begin = Loop->getBeginLoc();
  if (Begin.isMacroID() || Site.Parents.empty())
    return false;
  StringRef Indent = indentAt(Begin, Context);
  const Stmt *Parent = Site.Parents.back();
  const Stmt *Around =
      Site.Parents.size() > 1 ? Site.Parents[Site.Parents.size() - 2] : nullptr;
  if (Shape.backJump()) {
    if (!isa<CompoundStmt>(Parent) || (Around && isa<SwitchStmt>(Around)))
      return false;
    insert(Begin, Declaration + "\n" + Indent);
    return true;
  }
  // A jump past a declaration is an error in C++, so a function with labels
  // gets a block for it.
  bool InBlock = isa<CompoundStmt>(Parent);
  bool MayBePassed = (Around && isa<SwitchStmt>(Around)) ||
                     countLabels(Site.Function.getBody()) != 0;
  if (InBlock && !MayBePassed) {
    insert(Begin, Declaration + "\n" + Indent);
    return true;
  }
  if (!InBlock && !isa<IfStmt, ForStmt, WhileStmt, DoStmt, LabelStmt,
                       SwitchCase, CXXForRangeStmt>(Parent))
    return false;
  SourceLocation End = endOfStatement(Loop, Context);
  if (End.isInvalid())
    return false;
  insert(Begin, "{ " + Declaration + "\n" + Indent);
  insert(End, " }");
  return true;
}

} // namespace vfriendly::tidy
