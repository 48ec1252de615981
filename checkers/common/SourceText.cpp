//===- SourceText.cpp - Source ranges and their text ----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace vfriendly::tidy {

StringRef identifierOf(const NamedDecl *Of) {
  return Of && Of->getIdentifier() ? Of->getName() : StringRef();
}

const FunctionDecl *calleeOf(const Stmt *S) {
  auto *Call = dyn_cast_or_null<CallExpr>(S);
  return Call ? Call->getDirectCallee() : nullptr;
}

CharSourceRange fileRange(const Stmt *S, const ASTContext &Context) {
  return Lexer::makeFileCharRange(
      CharSourceRange::getTokenRange(S->getSourceRange()),
      Context.getSourceManager(), Context.getLangOpts());
}

std::string textOf(const Expr *E, const ASTContext &Context) {
  CharSourceRange Range = fileRange(E, Context);
  if (Range.isInvalid())
    return "";
  return Lexer::getSourceText(Range, Context.getSourceManager(),
                              Context.getLangOpts())
      .str();
}

/// Returns the last simple statement in S, the one at which the text of S ends:
/// for an `if`, `for` or `while`, that of the last branch or body.
static const Stmt *lastOf(const Stmt *S) {
  if (auto *If = dyn_cast<IfStmt>(S))
    return lastOf(If->getElse() ? If->getElse() : If->getThen());
  if (auto *While = dyn_cast<WhileStmt>(S))
    return lastOf(While->getBody());
  if (auto *For = dyn_cast<ForStmt>(S))
    return lastOf(For->getBody());
  if (auto *Label = dyn_cast<LabelStmt>(S))
    return lastOf(Label->getSubStmt());
  return S;
}

SourceLocation endOfStatement(const Stmt *S, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  const LangOptions &Lang = Context.getLangOpts();
  const Stmt *Last = lastOf(S);
  CharSourceRange Range = fileRange(Last, Context);
  if (Range.isInvalid())
    return {};
  if (isa<CompoundStmt, NullStmt, DeclStmt, SwitchStmt>(Last))
    return Range.getEnd();
  std::optional<Token> Next =
      Lexer::findNextToken(Range.getEnd().getLocWithOffset(-1), SM, Lang);
  if (!Next || Next->isNot(tok::semi))
    return {};
  return Next->getEndLoc();
}

StringRef indentAt(SourceLocation Place, const ASTContext &Context) {
  return Lexer::getIndentationForLine(Place, Context.getSourceManager());
}

bool startsLine(SourceLocation Place, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  return indentAt(Place, Context).size() + 1 ==
         SM.getSpellingColumnNumber(Place);
}

CharSourceRange wholeStatement(const Stmt *S, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  SourceLocation Begin = fileRange(S, Context).getBegin(),
                 End = endOfStatement(S, Context);
  if (Begin.isInvalid() || End.isInvalid())
    return {};
  StringRef File = SM.getBufferData(SM.getFileID(End));
  StringRef Rest = File.drop_front(SM.getFileOffset(End));
  size_t Blank = Rest.find_first_not_of(" \t");
  int Indent = indentAt(Begin, Context).size();
  if (startsLine(Begin, Context) && Blank != StringRef::npos &&
      Rest[Blank] == '\n' &&
      SM.getFileOffset(Begin) > static_cast<unsigned>(Indent)) {
    // The removal begins at the end of the previous line: clang also removes a
    // blank that follows a removal.
    Begin = Begin.getLocWithOffset(-Indent - 1);
    End = End.getLocWithOffset(Blank);
  }
  return CharSourceRange::getCharRange(Begin, End);
}

bool hasDirective(SourceRange Range, const ASTContext &Context) {
  StringRef Text =
      Lexer::getSourceText(CharSourceRange::getTokenRange(Range),
                           Context.getSourceManager(), Context.getLangOpts());
  while (!Text.empty()) {
    auto [Line, Rest] = Text.split('\n');
    if (Line.ltrim().starts_with("#"))
      return true;
    Text = Rest;
  }
  return false;
}

/// Returns the last token before Place. Sets InDirective if it belongs to a
/// directive, whose lines a backslash may continue.
static Token tokenBefore(SourceLocation Place, bool &InDirective,
                         const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  FileID File = SM.getFileID(Place);
  // Lexes the file from its beginning: tokens cannot be found backwards, as a
  // place may be in a comment or a string.
  Lexer Lex(File, SM.getBufferOrFake(File), SM, Context.getLangOpts());
  Token Before, Next;
  Before.startToken();
  for (bool AtEnd = Lex.LexFromRawLexer(Next);
       !AtEnd && Next.getLocation() < Place;
       AtEnd = Lex.LexFromRawLexer(Next)) {
    if (Next.isAtStartOfLine())
      InDirective = Next.is(tok::hash);
    Before = Next;
  }
  return Before;
}

bool hasRoomBefore(SourceLocation Place, const ASTContext &Context) {
  if (!startsLine(Place, Context))
    return false;
  bool InDirective = false;
  Token Before = tokenBefore(Place, InDirective, Context);
  // Other tokens are, for example, those of _Pragma or of a macro that expands
  // to it.
  return !InDirective && Before.isOneOf(tok::semi, tok::l_brace, tok::r_brace);
}

bool mentions(const ASTContext &Unit, ArrayRef<StringRef> Names) {
  // A precompiled header or a module brings identifiers when they are asked
  // for.
  return Unit.Idents.getExternalIdentifierLookup() ||
         llvm::any_of(Names, [&](StringRef Name) {
           return Unit.Idents.find(Name) != Unit.Idents.end();
         });
}

} // namespace vfriendly::tidy
