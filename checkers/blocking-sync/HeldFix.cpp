//===- HeldFix.cpp - Moving a call out of a critical section --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   take(l);                    p = malloc(64);
//   p = malloc(64);             take(l);
//   ...                   =>    ...
//   free(q);                    release(l);
//   release(l);                 free(q);
//
// Two neighbours change places. That is legal if
//   1. the variables p and q are local and nothing holds their addresses, so
//      that neither another thread nor the lock's functions can read or write
//      them;
//   2. the other neighbour does not name them;
//   3. the arguments are constants or such variables, too;
//   4. both are statements of one block, one right after the other, so that
//      they are executed equally often.
// A free that comes later is safe: a thread that can reach the block between
// the release and the free would otherwise reach it after the free.
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/HeldFix.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if S names Variable.
static bool names(const Stmt *S, const ValueDecl &Variable) {
  bool Found = false;
  forEachStmtAndLambda(S, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
    auto *Ref = dyn_cast<DeclRefExpr>(Below);
    Found |= Ref && Ref->getDecl() == &Variable;
  });
  return Found;
}

/// Returns the local variable that E reads if nobody else can: its address is
/// not taken in F, and no lambda captures it.
static const VarDecl *ownVariable(const Expr *E, const FunctionDecl &F) {
  auto *Ref = dyn_cast<DeclRefExpr>(E->IgnoreParenImpCasts());
  auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  if (!Variable || !Variable->hasLocalStorage() ||
      Variable->getType()->isReferenceType() ||
      Variable->getType().isVolatileQualified())
    return nullptr;
  bool Escapes = false;
  forEachStmtAndLambda(
      F.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
        auto *Use = dyn_cast<DeclRefExpr>(S);
        if (!Use || Use->getDecl() != Variable)
          return;
        Escapes |= Use->refersToEnclosingVariableOrCapture();
        // It is read, or assigned to; all else may keep its address.
        const Stmt *Parent = Parents.empty() ? nullptr : Parents.back();
        if (auto *Cast = dyn_cast_or_null<ImplicitCastExpr>(Parent);
            Cast && Cast->getCastKind() == CK_LValueToRValue)
          return;
        auto *Assign = dyn_cast_or_null<BinaryOperator>(Parent);
        Escapes |= !(Assign && Assign->isAssignmentOp() &&
                     Assign->getLHS()->IgnoreParens() == Use);
      });
  return Escapes ? nullptr : Variable;
}

/// Returns the neighbour of S in a block of F, the next or the previous; null
/// if it has none.
static const Stmt *neighbour(const Stmt *S, bool Next, const FunctionDecl &F) {
  const Stmt *Found = nullptr;
  forEachStmt(F.getBody(), [&](const Stmt *Block, ArrayRef<const Stmt *>) {
    auto *Compound = dyn_cast<CompoundStmt>(Block);
    if (!Compound)
      return;
    auto Where = llvm::find(Compound->body(), S);
    if (Where == Compound->body_end())
      return;
    if (Next && std::next(Where) != Compound->body_end())
      Found = *std::next(Where);
    if (!Next && Where != Compound->body_begin())
      Found = *std::prev(Where);
  });
  return Found;
}

/// Returns the end of a statement that may be a macro's use, after the
/// semicolon.
static SourceLocation endOf(const Stmt *S, const ASTContext &Context) {
  return endOfStatement(S, Context);
}

/// Returns the assignment `p = malloc(...)` or the call `free(p)` of which Call
/// is the call; null if it is part of something else.
static const Stmt *statementOf(const CallExpr &Call, bool Allocates,
                               const FunctionDecl &F, const Expr *&Pointer) {
  if (!Allocates) {
    Pointer = Call.getNumArgs() == 1 ? Call.getArg(0) : nullptr;
    return &Call;
  }
  const Stmt *Found = nullptr;
  forEachStmt(F.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *Assign = dyn_cast<BinaryOperator>(S);
    if (Assign && Assign->getOpcode() == BO_Assign &&
        Assign->getRHS()->IgnoreParenCasts() == &Call) {
      Found = Assign;
      Pointer = Assign->getLHS();
    }
  });
  return Found;
}

std::vector<FixItHint> moveOut(ArrayRef<LongCall> Found, const SpinSite &Take,
                               ArrayRef<SpinSite> Sites, const FunctionDecl &F,
                               const ASTContext &Context) {
  std::vector<FixItHint> Fixes;
  for (const LongCall &Long : Found) {
    auto *Call = dyn_cast<CallExpr>(Long.Site);
    StringRef Name = identifierOf(calleeOf(Call));
    bool Allocates = Name == "malloc" || Name == "calloc";
    if (!Call || Long.Inside || (!Allocates && Name != "free"))
      continue;
    const Expr *Pointer = nullptr;
    const Stmt *Statement = statementOf(*Call, Allocates, F, Pointer);
    const VarDecl *Own = Pointer ? ownVariable(Pointer, F) : nullptr;
    const Stmt *Other =
        Statement && Own ? neighbour(Statement, !Allocates, F) : nullptr;
    if (!Other || names(Other, *Own))
      continue;
    bool Matches = llvm::any_of(Sites, [&](const SpinSite &S) {
      return S.Site == Other && !S.IsGuard && S.Object == Take.Object &&
             S.Op == (Allocates ? SpinOp::Acquire : SpinOp::Release) &&
             (!Allocates || &S == &Take || S.Site == Take.Site);
    });
    bool Constant =
        !Allocates || llvm::all_of(Call->arguments(), [&](const Expr *A) {
          return A->isEvaluatable(Context) || ownVariable(A, F);
        });
    SourceLocation End = endOf(Statement, Context);
    CharSourceRange Whole = wholeStatement(Statement, Context);
    if (!Matches || !Constant || End.isInvalid() || Whole.isInvalid() ||
        hasDirective(SourceRange(Statement->getBeginLoc(), Other->getEndLoc()),
                     Context))
      continue;
    const SourceManager &SM = Context.getSourceManager();
    StringRef Text = Lexer::getSourceText(
        CharSourceRange::getCharRange(Statement->getBeginLoc(), End), SM,
        Context.getLangOpts());
    SourceLocation Begin = SM.getExpansionLoc(Other->getBeginLoc());
    std::string Indent = indentAt(Begin, Context).str();
    if (Allocates) {
      if (!startsLine(Begin, Context))
        continue;
      Fixes.push_back(
          FixItHint::CreateInsertion(Begin, (Text + "\n" + Indent).str()));
    } else {
      SourceLocation After = endOf(Other, Context);
      if (After.isInvalid())
        continue;
      Fixes.push_back(
          FixItHint::CreateInsertion(After, ("\n" + Indent + Text).str()));
    }
    Fixes.push_back(FixItHint::CreateRemoval(Whole));
  }
  return Fixes;
}

} // namespace vfriendly::tidy
