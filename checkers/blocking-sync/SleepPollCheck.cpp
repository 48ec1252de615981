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

#include "checkers/blocking-sync/Checks.h"

#include "checkers/blocking-sync/TimedTests.h"
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
         isa<CXXOperatorCallExpr, UserDefinedLiteral>(Call) ||
         Callee.hasAttr<PureAttr>() || Callee.hasAttr<ConstAttr>();
}

/// Returns true if the loop can end: its condition names a variable, or its
/// body contains a break, return or goto.
static bool hasExit(const Stmt *Loop) {
  const Expr *Condition = loopCondition(Loop);
  bool Reads = false;
  forEachStmt(Condition, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    Reads |= isa<DeclRefExpr, MemberExpr>(S);
  });
  forEachStmt(loopBody(Loop), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    Reads |= isa<BreakStmt, ReturnStmt, GotoStmt>(S);
  });
  return Reads;
}

/// Returns true if S only counts or leaves the iteration, so that a loop with
/// it may still be a wait.
static bool isIdle(const Stmt *S) {
  if (auto *If = dyn_cast<IfStmt>(S)) {
    auto *Block = dyn_cast<CompoundStmt>(If->getThen());
    const Stmt *Last = !Block                ? If->getThen()
                       : Block->body_empty() ? nullptr
                                             : Block->body_back();
    return !If->getElse() &&
           isa_and_nonnull<BreakStmt, ContinueStmt, ReturnStmt, GotoStmt>(Last);
  }
  auto *Step = dyn_cast<UnaryOperator>(S);
  return isa<ContinueStmt, NullStmt>(S) ||
         (Step && Step->isIncrementDecrementOp());
}

/// Returns the lock that an iteration of Loop releases and takes again around
/// Yield, if it does nothing else on this path: in `while (!jobs) { unlock;
/// yield; lock; }`, or in a branch of a loop that works on others.
static const SyncSite *takenAround(const SyncSite &Yield, const Stmt *Loop,
                                   const FunctionSync &F) {
  const SyncSite *Lock = nullptr, *Unlock = nullptr;
  const CompoundStmt *Block = nullptr;
  for (const Stmt *S : Yield.Parents)
    if (auto *Each = dyn_cast<CompoundStmt>(S))
      Block = Each;
  auto IsIn = [&](const Stmt *Part, const SyncSite &S) {
    return Part == S.Site || llvm::is_contained(S.Parents, Part);
  };
  if (!Block || !llvm::is_contained(Yield.Parents, Loop))
    return nullptr;
  bool IsBefore = true;
  for (const Stmt *Part : Block->body()) {
    if (IsIn(Part, Yield)) {
      IsBefore = false;
      continue;
    }
    const SyncSite *Does = nullptr;
    for (const SyncSite &S : F.Syncs)
      if (IsIn(Part, S) && !isa<IfStmt>(Part))
        Does = &S;
    if (Does && Does->Kind == SyncKind::Unlock && IsBefore && !Unlock)
      Unlock = Does;
    else if (Does && Does->Kind == SyncKind::Lock && !IsBefore && !Lock)
      Lock = Does;
    else if (Does || !isIdle(Part))
      return nullptr;
  }
  if (!Lock || !Unlock || !Lock->Object || Lock->Object != Unlock->Object)
    return nullptr;
  // Between the block and the loop there may only be branches. What follows
  // them does not run in this iteration if the block ends with `continue`.
  const bool Continues = isa<ContinueStmt>(Block->body_back());
  const Stmt *Inner = Block;
  for (const Stmt *S : llvm::reverse(ArrayRef<const Stmt *>(
           Yield.Parents.begin(), llvm::find(Yield.Parents, Block)))) {
    if (S == Loop)
      return Lock;
    if (auto *Around = dyn_cast<CompoundStmt>(S)) {
      for (const Stmt *Part : Around->body()) {
        if (Part == Inner && Continues)
          break;
        if (Part != Inner && !isIdle(Part))
          return nullptr;
      }
    } else if (!isa<IfStmt>(S)) {
      return nullptr;
    }
    Inner = S;
  }
  return nullptr;
}

/// Returns the `if` that asks a function which locks for an item, and sleeps if
/// there is none: `if (take(item)) work(item); else yield();`. Null if Sleep is
/// in no such branch.
static const IfStmt *askedBefore(const SyncSite &Sleep, const FunctionSync &F) {
  for (const Stmt *S : Sleep.Parents)
    if (auto *If = dyn_cast<IfStmt>(S))
      if (llvm::any_of(F.Calls, [&](const CallSite &C) {
            return (If->getCond() == C.Call ||
                    llvm::is_contained(C.Parents, If->getCond())) &&
                   llvm::any_of(F.Syncs, [&](const SyncSite &Lock) {
                     return Lock.Site == C.Call && Lock.Kind == SyncKind::Lock;
                   });
          }))
        return If;
  return nullptr;
}

/// Returns true if Statement, with these Parents, runs where Sleep does not
/// follow: in Asked's condition, or where there was an item.
static bool isApart(const Stmt *Statement, ArrayRef<const Stmt *> Parents,
                    const IfStmt *Asked, const SyncSite &Sleep) {
  auto IsIn = [&](const Stmt *Part) {
    return Part && (Part == Statement || llvm::is_contained(Parents, Part));
  };
  return Asked && (IsIn(Asked->getCond()) ||
                   (IsIn(Asked->getThen()) &&
                    !llvm::is_contained(Sleep.Parents, Asked->getThen())) ||
                   (IsIn(Asked->getElse()) &&
                    !llvm::is_contained(Sleep.Parents, Asked->getElse()) &&
                    Asked->getElse() != Sleep.Site));
}

/// Returns the condition variable on which Loop waits as well, if a function of
/// the unit wakes its waiters; null if there is none.
static const ValueDecl *waitsOn(const Stmt *Loop, const FunctionSync &F,
                                const SyncModel &Model) {
  for (const SyncSite &Wait : F.Syncs)
    if (Wait.Kind == SyncKind::Wait && Wait.Object &&
        llvm::is_contained(Wait.Parents, Loop))
      for (const FunctionSync &Other : Model.functions())
        for (const SyncSite &S : Other.Syncs)
          if (S.Object == Wait.Object &&
              (S.Kind == SyncKind::Signal || S.Kind == SyncKind::Broadcast))
            return Wait.Object;
  return nullptr;
}

void SleepPollCheck::reportTimedTests(const SyncModel &Model,
                                      const ASTContext &Context) {
  for (const FunctionSync &F : Model.functions())
    for (const TimedTest &Each : findTimedTests(F, Model, Context)) {
      if (!claim(Each.Wait->getExprLoc(), F.Function, Context))
        continue;
      report(*Each.Wait, *Each.Loop, *F.Function,
             "after each timeout the loop only tests " + nameOf(Each.Flag),
             Each.Condition
                 ? "notify " + nameOf(Each.Condition) + " when " +
                       nameOf(Each.Flag) + " changes, and wait without timeout"
                 : "wait without timeout, and let an eventfd or a pipe end the "
                   "wait when " +
                       nameOf(Each.Flag) + " changes",
             "each wake-up costs exits");
    }
}

void SleepPollCheck::inspect(const SyncModel &Model,
                             const ASTContext &Context) {
  reportTimedTests(Model, Context);
  for (const FunctionSync &F : Model.functions())
    for (const SyncSite &Sleep : F.Syncs) {
      const bool Yields = Sleep.Kind == SyncKind::Yield;
      const Stmt *Loop = Sleep.Kind == SyncKind::Sleep || Yields
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
                   S.Kind != SyncKind::Sleep && S.Kind != SyncKind::Yield;
        }
      // The calls of functions that sleep are in F.Syncs as well.
      const IfStmt *Asked = askedBefore(Sleep, F);
      for (const CallSite &C : F.Calls)
        if (llvm::is_contained(C.Parents, Loop) &&
            !isApart(C.Call, C.Parents, Asked, Sleep) &&
            llvm::none_of(F.Syncs, [&](const SyncSite &S) {
              return S.Site == C.Call && S.Kind == SyncKind::Sleep;
            }))
          Works |= !onlyLooks(*C.Call, *C.Callee);
      // A loop that writes anything but locals does work, and is no wait.
      forEachStmt(Loop, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
        if (isApart(S, Parents, Asked, Sleep))
          return;
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
      if (!Locks || Works) {
        const SyncSite *Taken = takenAround(Sleep, Loop, F);
        if (!Taken)
          continue;
        Mutex = Taken->Object;
      }
      if (!claim(Sleep.Site->getExprLoc(), F.Function, Context))
        continue;
      const ValueDecl *Condition = waitsOn(Loop, F, Model);
      report(*Sleep.Site, *Loop, *F.Function,
             "loop takes " + nameOf(Mutex) + " to test for a change and " +
                 (Yields ? "yields" : "sleeps") + " between tests",
             Condition ? "wait on '" + Condition->getNameAsString() +
                             "', which is notified, at once"
             : Yields  ? "wait on a condition variable"
                       : "wait on a condition variable that the writer signals",
             Yields ? "yielding keeps the vCPU busy"
                    : "each wake-up costs exits");
    }
}

} // namespace vfriendly::tidy
