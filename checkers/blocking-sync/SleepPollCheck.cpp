//===- SleepPollCheck.cpp - vfriendly-blocking-sync-sleep-poll ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ignores loops that poll without a lock: vfriendly-spin-loops reports those.
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/SleepPollCheck.h"

#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if the call has no side effect, so that a loop with it may
/// still be a wait.
static bool onlyLooks(const CallExpr &Call, const FunctionDecl &Callee) {
  switch (classifyCall(Call, Callee)) {
  case CallEffect::Other:
    break;
  default:
    return true;
  }
  auto *Method = dyn_cast<CXXMethodDecl>(&Callee);
  return (Method && Method->isConst() && isOfStd(Callee)) ||
         isa<CXXOperatorCallExpr>(Call) || Callee.hasAttr<PureAttr>() ||
         Callee.hasAttr<ConstAttr>();
}

/// Returns true if the loop can end: its condition names a variable, or its
/// body contains a break, return or goto.
static bool hasExit(const Stmt *Loop) {
  const Expr *Condition = nullptr;
  if (auto *While = dyn_cast<WhileStmt>(Loop))
    Condition = While->getCond();
  else if (auto *Do = dyn_cast<DoStmt>(Loop))
    Condition = Do->getCond();
  else if (auto *For = dyn_cast<ForStmt>(Loop))
    Condition = For->getCond();
  bool Reads = false;
  forEachStmt(Condition, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    Reads |= isa<DeclRefExpr, MemberExpr>(S);
  });
  forEachStmt(loopBody(Loop), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    Reads |= isa<BreakStmt, ReturnStmt, GotoStmt>(S);
  });
  return Reads;
}

void SleepPollCheck::inspect(const SyncModel &Model,
                             const ASTContext &Context) {
  for (const FunctionSync &F : Model.functions())
    for (const SyncSite &Sleep : F.Syncs) {
      const Stmt *Loop = Sleep.Kind == SyncKind::Sleep
                             ? innermostLoop(Sleep.Parents)
                             : nullptr;
      if (!Loop || isa<CXXForRangeStmt>(Loop) || !hasExit(Loop))
        continue;
      const ValueDecl *Mutex = nullptr;
      bool Locks = false, Works = false;
      for (const SyncSite &S : F.Syncs)
        if (llvm::is_contained(S.Parents, Loop)) {
          Locks |= S.Kind == SyncKind::Lock;
          if (S.Kind == SyncKind::Lock && !Mutex)
            Mutex = S.Object;
          Works |= S.Kind != SyncKind::Lock && S.Kind != SyncKind::Unlock &&
                   S.Kind != SyncKind::Sleep;
        }
      for (const CallSite &C : F.Calls)
        if (llvm::is_contained(C.Parents, Loop))
          Works |= !onlyLooks(*C.Call, *C.Callee);
      // A loop that writes anything but locals does work, and is no wait.
      forEachStmt(Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
        const Expr *Written = nullptr;
        if (auto *Binary = dyn_cast<BinaryOperator>(S);
            Binary && Binary->isAssignmentOp())
          Written = Binary->getLHS();
        else if (auto *Unary = dyn_cast<UnaryOperator>(S);
                 Unary && Unary->isIncrementDecrementOp())
          Written = Unary->getSubExpr();
        if (!Written)
          return;
        auto *Ref = dyn_cast<DeclRefExpr>(Written->IgnoreParenImpCasts());
        auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
        Works |= !Variable || !Variable->hasLocalStorage();
      });
      if (!Locks || Works ||
          !claim(Sleep.Site->getExprLoc(), F.Function, Context))
        continue;
      report(*Sleep.Site, *Loop, *F.Function,
             "loop takes " + nameOf(Mutex) +
                 " to test for a change and sleeps between tests",
             "wait on a condition variable that the writer signals",
             "each wake-up costs exits");
    }
}

} // namespace vfriendly::tidy
