//===- BroadcastCheck.cpp - vfriendly-blocking-sync-broadcast -------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A broadcast may be replaced by a signal if
//   1. all waits on the condition are visible, and have the same predicate;
//   2. the function with the broadcast makes one step towards that predicate,
//      and broadcasts whenever it makes the step and somebody waits;
//   3. a waiter that proceeds undoes that step, so that the next waiter would
//      find the predicate false.
// By 2 and 3, one wake-up per broadcast suffices. If 2 or 3 fails, the function
// may set a flag that all waiters must see, or let several waiters proceed.
// Waits with a deadline are excluded: a woken thread may time out and consume
// the signal.
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "checkers/blocking-sync/WaitTests.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if the body of a template's method may wait on a condition: a
/// name in it contains `wait`. Unlike SyncModel, this does not need an
/// instantiation of the method in this unit.
static bool mentionsWait(const Stmt *Body) {
  bool Found = false;
  forEachStmt(Body, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    DeclarationName Name;
    if (auto *Dependent = dyn_cast<CXXDependentScopeMemberExpr>(S))
      Name = Dependent->getMember();
    else if (auto *Member = dyn_cast<MemberExpr>(S))
      Name = Member->getMemberDecl()->getDeclName();
    else if (auto *Overloaded = dyn_cast<OverloadExpr>(S))
      Name = Overloaded->getName();
    else if (auto *Ref = dyn_cast<DeclRefExpr>(S))
      Name = Ref->getDecl()->getDeclName();
    const IdentifierInfo *Identifier = Name.getAsIdentifierInfo();
    Found |= Identifier && Identifier->getName().contains("wait");
  });
  return Found;
}

/// Returns true if no function outside of this translation unit can wait on the
/// condition variable Condition.
static bool isPrivate(const ValueDecl &Condition, const SyncModel &Model,
                      const ASTContext &Context) {
  if (auto *Variable = dyn_cast<VarDecl>(&Condition))
    return Variable->hasGlobalStorage() && !Variable->isExternallyVisible();
  auto *Field = dyn_cast<FieldDecl>(&Condition);
  if (!Field)
    return false;
  auto *Class = dyn_cast<CXXRecordDecl>(Field->getParent());
  const SourceManager &SM = Context.getSourceManager();
  if (!Class || Field->getAccess() != AS_private)
    return SM.isInMainFile(SM.getExpansionLoc(Field->getLocation()));
  if (Class->hasFriends())
    return false;
  for (const CXXMethodDecl *Method : Class->methods()) {
    if (Method->isImplicit() || Method->isDefaulted() || Method->isDeleted() ||
        Model.of(Method))
      continue;
    const FunctionDecl *Pattern = Method->getTemplateInstantiationPattern();
    if (!Pattern || !Pattern->getBody() || mentionsWait(Pattern->getBody()))
      return false;
  }
  return true;
}

/// Returns the field or variable that E reads, also from an atomic.
static const ValueDecl *readBy(const Expr *E) {
  auto *Call = dyn_cast<CXXMemberCallExpr>(E->IgnoreParenImpCasts());
  const CXXMethodDecl *Method = Call ? Call->getMethodDecl() : nullptr;
  if (!Method)
    return objectOf(E);
  bool IsLoad =
      isa<CXXConversionDecl>(Method) || identifierOf(Method) == "load";
  return IsLoad && Method->getParent()->isInStdNamespace()
             ? objectOf(Call->getImplicitObjectArgument())
             : nullptr;
}

/// Returns true for integers but bool, and atomics of them.
static bool isCount(QualType Type) {
  if (auto *Class = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
          Type->getAsCXXRecordDecl());
      Class && Class->isInStdNamespace() && Class->getName() == "atomic" &&
      Class->getTemplateArgs()[0].getKind() == TemplateArgument::Type)
    Type = Class->getTemplateArgs()[0].getAsType();
  return Type->isIntegerType() && !Type->isBooleanType();
}

/// Returns the field or variable N that Condition tests to be above zero, as in
/// `N`, `N > 0`, `N != 0` or `0 < N`; null for another condition.
static const ValueDecl *countAboveZero(const Expr *Condition,
                                       const ASTContext &Context) {
  Condition = Condition->IgnoreParenImpCasts();
  auto *Compare = dyn_cast<BinaryOperator>(Condition);
  if (!Compare)
    return readBy(Condition);
  const Expr *Count = Compare->getLHS(), *Zero = Compare->getRHS();
  BinaryOperatorKind Op = Compare->getOpcode();
  if (Op == BO_LT ||
      (Op == BO_NE && isa<IntegerLiteral>(Count->IgnoreParenImpCasts()))) {
    std::swap(Count, Zero);
    Op = Op == BO_LT ? BO_GT : Op;
  }
  Expr::EvalResult Value;
  return (Op == BO_GT || Op == BO_NE) && !Zero->isValueDependent() &&
                 Zero->EvaluateAsInt(Value, Context) && Value.Val.getInt() == 0
             ? readBy(Count)
             : nullptr;
}

/// Returns true if Count is the number of the threads that wait at Waits or are
/// about to: in each function that waits it goes up before the wait and down
/// after it, and no other function that synchronizes changes it.
static bool countsWaiters(const ValueDecl &Count,
                          ArrayRef<const SyncSite *> Waits,
                          const SyncModel &Model, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  SharedPlaces Places;
  Places.insert(&Count);
  for (const FunctionSync &F : Model.functions()) {
    if (F.Syncs.empty())
      continue; // Initializes the count, before there are threads.
    const SyncSite *Wait = nullptr;
    for (const SyncSite *Each : Waits)
      if (Each->Function == F.Function)
        Wait = Wait ? Wait : Each;
    bool Up = false, Down = false;
    for (const PlaceWrite &W :
         writesTo(Places, F.Function->getBody(), Context)) {
      bool IsBefore =
          Wait && SM.isBeforeInTranslationUnit(W.Site->getBeginLoc(),
                                               Wait->Site->getBeginLoc());
      if (!Wait || W.How != (IsBefore ? PlaceWrite::Add : PlaceWrite::Remove) ||
          llvm::any_of(W.Parents, [&](const Stmt *S) {
            return isConditional(S) && !llvm::is_contained(Wait->Parents, S);
          }))
        return false;
      (IsBefore ? Up : Down) = true;
    }
    if (Wait && !(Up && Down))
      return false;
  }
  return true;
}

/// Returns Parents without each `if (waiters > 0)`, in which the threads are
/// counted that wait at Waits: it skips the broadcast only if nobody waits. An
/// atomic count may be read without the mutex, so only after Step.
static SmallVector<const Stmt *, 8>
withoutTestsForWaiters(ArrayRef<const Stmt *> Parents,
                       ArrayRef<const SyncSite *> Waits, const PlaceWrite &Step,
                       const SyncModel &Model, const ASTContext &Context) {
  SmallVector<const Stmt *, 8> Left;
  for (const Stmt *S : Parents) {
    auto *If = dyn_cast<IfStmt>(S);
    const ValueDecl *Count =
        If && !If->getElse() && !If->hasInitStorage() && !If->hasVarStorage()
            ? countAboveZero(If->getCond(), Context)
            : nullptr;
    bool MayBeEarly = Count && !Count->getType()->isIntegerType() &&
                      !Context.getSourceManager().isBeforeInTranslationUnit(
                          Step.Site->getBeginLoc(), If->getBeginLoc());
    if (!Count || !isCount(Count->getType()) || MayBeEarly ||
        !isPrivate(*Count, Model, Context) ||
        !countsWaiters(*Count, Waits, Model, Context))
      Left.push_back(S);
  }
  return Left;
}

/// Returns the only element of Writes, if it adds or removes one item and is
/// not in a loop; otherwise null.
static const PlaceWrite *onlyStep(ArrayRef<PlaceWrite> Writes) {
  return Writes.size() == 1 && Writes[0].How != PlaceWrite::Other &&
                 !innermostLoop(Writes[0].Parents)
             ? &Writes[0]
             : nullptr;
}

static std::optional<FixItHint> signalInstead(const SyncSite &Broadcast) {
  auto *Call = dyn_cast<CallExpr>(Broadcast.Site);
  const FunctionDecl *Callee = calleeOf(Call);
  if (identifierOf(Callee).empty())
    return std::nullopt;
  SourceLocation Where;
  if (auto *Member = dyn_cast<MemberExpr>(Call->getCallee()->IgnoreParens()))
    Where = Member->getMemberLoc();
  else
    Where = Call->getCallee()->getBeginLoc();
  StringRef New = llvm::StringSwitch<StringRef>(Callee->getName())
                      .Case("notify_all", "notify_one")
                      .Case("pthread_cond_broadcast", "pthread_cond_signal")
                      .Case("cnd_broadcast", "cnd_signal")
                      .Case("vf_cond_broadcast", "vf_cond_signal")
                      .Default("");
  // The fix-it does not edit a broadcast that is called through a wrapper or a
  // macro.
  if (New.empty() || Where.isInvalid() || Where.isMacroID())
    return std::nullopt;
  return FixItHint::CreateReplacement(CharSourceRange::getTokenRange(Where),
                                      New);
}

void BroadcastCheck::inspect(const SyncModel &Model,
                             const ASTContext &Context) {
  for (const FunctionSync &F : Model.functions())
    for (const SyncSite &Broadcast : F.Syncs) {
      if (Broadcast.Kind != SyncKind::Broadcast || !Broadcast.Object ||
          !isPrivate(*Broadcast.Object, Model, Context))
        continue;
      SmallVector<const SyncSite *, 4> Waits;
      SmallVector<WaitTests, 4> Tests;
      bool Timed = false;
      for (const FunctionSync &Other : Model.functions())
        for (const SyncSite &S : Other.Syncs)
          if (S.Object == Broadcast.Object) {
            Timed |= S.Kind == SyncKind::TimedWait;
            if (S.Kind == SyncKind::Wait) {
              Waits.push_back(&S);
              Tests.push_back(testsOf(S, Context));
            }
          }
      if (Timed || Waits.empty() ||
          llvm::any_of(Tests, [&](const WaitTests &T) {
            return T.Conditions.empty() || T.shape() != Tests[0].shape();
          }))
        continue;
      SharedPlaces Places = Tests[0].places();
      SmallVector<PlaceWrite, 4> Writes =
          writesTo(Places, F.Function->getBody(), Context);
      const PlaceWrite *Step = onlyStep(Writes);
      // Reports the broadcast only if it is executed once whenever the notifier
      // writes, and each waiter undoes this write, so that only one waiter can
      // proceed.
      if (!Step || innermostLoop(Broadcast.Parents) ||
          !isUnderNoMoreThan(withoutTestsForWaiters(Broadcast.Parents, Waits,
                                                    *Step, Model, Context),
                             Step->Parents))
        continue;
      bool AllTake = true, IsSafe = true;
      for (auto [Wait, Test] : llvm::zip_equal(Waits, Tests)) {
        SmallVector<PlaceWrite, 2> Undone =
            takesBack(*Wait, Test, *Step, Places, Context);
        AllTake &= !Undone.empty();
        IsSafe &= !mayLeaveIt(*Wait, Test, *Step, Undone, Places, Context);
      }
      if (!AllTake)
        continue;
      if (!claim(Broadcast.Site->getExprLoc(), F.Function, Context))
        continue;
      std::optional<FixItHint> Fix =
          IsSafe ? signalInstead(Broadcast) : std::nullopt;
      {
        DiagnosticBuilder Diag = report(
            *Broadcast.Site, *Broadcast.Site, *F.Function,
            "wakes all threads that wait on '" + Broadcast.Object->getName() +
                "', but only one can proceed",
            "wake one");
        if (Fix)
          Diag << *Fix;
      }
      if (Fix)
        diag(Broadcast.Site->getExprLoc(),
             "measure the fix where items come faster than a thread wakes up: "
             "threads that are woken early take items without a wake-up",
             DiagnosticIDs::Note);
    }
}

} // namespace vfriendly::tidy
