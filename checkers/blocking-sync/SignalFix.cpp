//===- SignalFix.cpp - Moving a signal after the unlock -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   pthread_cond_signal(&c);              pthread_mutex_unlock(&m);
//   pthread_mutex_unlock(&m);       =>    pthread_cond_signal(&c);
//
// No wake-up is lost: what the waiters test has changed before the release. But
// a waiter that proceeds after the release may destroy the condition variable
// before it is signalled, which it cannot while it has to wait for the mutex.
// So the move is legal if
//
//   1. the condition is never destroyed: it has static storage, and a type
//      without a destructor, which C++'s has;
//   2. its name means the same after the release: it depends on no variable;
//   3. both are statements of one block, with nothing between them.
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/SignalFix.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns the expression for the condition that Signal wakes.
static const Expr *conditionOf(const SyncSite &Signal) {
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(Signal.Site))
    return Member->getImplicitObjectArgument();
  auto *Call = dyn_cast<CallExpr>(Signal.Site);
  return Call && Call->getNumArgs() == 1 ? Call->getArg(0) : nullptr;
}

/// Returns true if E names a place in static memory that is never destroyed,
/// and depends on nothing that may change: a variable or a part of one.
static bool isForever(const Expr *E, const ASTContext &Context) {
  for (;;) {
    if (!E)
      return false;
    E = E->IgnoreParenImpCasts();
    if (auto *Address = dyn_cast<UnaryOperator>(E);
        Address && Address->getOpcode() == UO_AddrOf) {
      E = Address->getSubExpr();
    } else if (auto *Member = dyn_cast<MemberExpr>(E);
               Member && !Member->isArrow()) {
      E = Member->getBase();
    } else if (auto *Element = dyn_cast<ArraySubscriptExpr>(E)) {
      if (!Element->getIdx()->isEvaluatable(Context))
        return false;
      E = Element->getBase();
    } else {
      break;
    }
  }
  auto *Ref = dyn_cast<DeclRefExpr>(E);
  auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  return Variable && Variable->hasGlobalStorage() &&
         Variable->getTLSKind() == VarDecl::TLS_None &&
         !Variable->getType()->isPointerType() &&
         !Variable->getType()->isReferenceType() &&
         !Variable->getType()->isDependentType() &&
         !Variable->needsDestruction(Context);
}

/// Returns the statement after S in Block; null if it is the last.
static const Stmt *next(const Stmt *S, const CompoundStmt &Block) {
  auto Where = llvm::find(Block.body(), S);
  return Where == Block.body_end() || std::next(Where) == Block.body_end()
             ? nullptr
             : *std::next(Where);
}

std::vector<FixItHint> signalAfterRelease(const SyncSite &Signal,
                                          const HeldMutex &Held,
                                          const FunctionSync &F,
                                          const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  const Stmt *Statement = Held.Part;
  // A condition of which only names are known may be guarded by the mutex.
  if (!Held.Unlock || Signal.Site != Statement || Signal.IsByName ||
      Held.Unlock->IsByName || !isForever(conditionOf(Signal), Context))
    return {};
  const Stmt *Next = next(Statement, *Held.Block);
  CharSourceRange Whole = wholeStatement(Statement, Context);
  SourceLocation End = endOfStatement(Statement, Context);
  SourceLocation Begin = Statement->getBeginLoc();
  if (Whole.isInvalid() || End.isInvalid() || Begin.isMacroID() ||
      !startsLine(Begin, Context))
    return {};
  SourceLocation After = Next == Held.Unlock->Site
                             ? endOfStatement(Next, Context)
                             : SourceLocation();
  if (After.isInvalid() || After.isMacroID() ||
      hasDirective(SourceRange(Begin, Next->getEndLoc()), Context))
    return {};
  StringRef Text = Lexer::getSourceText(
      CharSourceRange::getCharRange(Begin, End), SM, Context.getLangOpts());
  StringRef Indent = indentAt(SM.getExpansionLoc(Next->getBeginLoc()), Context);
  return {FixItHint::CreateRemoval(Whole),
          FixItHint::CreateInsertion(After, ("\n" + Indent + Text).str())};
}

} // namespace vfriendly::tidy
