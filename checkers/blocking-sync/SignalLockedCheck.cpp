//===- SignalLockedCheck.cpp - vfriendly-blocking-sync-signal-locked ------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   waker:   lock ... signal ........ unlock
//   waiter:  wait          wakes, needs the mutex, blocks   wakes
//
// Ignores what happens once: a signal in a destructor or a function that is
// named like one, before a join, or after a write to a flag that is never set
// back or to a state that the waiters only look at. What happens seldom, too:
// a signal that is sent only if the queue was empty. And what must be so: a
// signal to a condition on the waiter's stack.
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "checkers/blocking-sync/HeldMutex.h"
#include "checkers/blocking-sync/IdleEffects.h"
#include "checkers/blocking-sync/Predicates.h"
#include "checkers/blocking-sync/SignalFix.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"
#include "passes/analysis/common/TellingNames.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns true if a wait on Condition releases another mutex than Mutex.
static bool waitsWithAnother(const ValueDecl *Condition, const ValueDecl *Mutex,
                             const SyncModel &Model) {
  bool Other = false;
  if (!Condition || !Mutex)
    return false;
  for (const FunctionSync &F : Model.functions())
    for (const SyncSite &S : F.Syncs)
      if ((S.Kind == SyncKind::Wait || S.Kind == SyncKind::TimedWait) &&
          S.Object == Condition) {
        const ValueDecl *Of = mutexOf(S, F);
        if (Of == Mutex)
          return false;
        Other |= Of != nullptr;
      }
  return Other;
}

namespace {
/// The value that a statement assigns to a place that threads share.
struct Stored {
  const ValueDecl *Place = nullptr;
  std::optional<llvm::APSInt> Value; ///< If it is constant.
  bool IsPlain = false;              ///< Neither a step nor a container's.
};
} // namespace

/// Returns what S writes; no place if it writes nothing that threads share.
static Stored storedBy(const Stmt *S, const ASTContext &Context) {
  const Expr *To = nullptr, *Value = nullptr;
  if (auto *Binary = dyn_cast<BinaryOperator>(S);
      Binary && Binary->isAssignmentOp()) {
    To = Binary->getLHS();
    Value = Binary->getOpcode() == BO_Assign ? Binary->getRHS() : nullptr;
  } else if (auto *Unary = dyn_cast<UnaryOperator>(S);
             Unary && Unary->isIncrementDecrementOp()) {
    To = Unary->getSubExpr();
  } else if (auto *Call = dyn_cast<CXXOperatorCallExpr>(S);
             Call && Call->isAssignmentOp() && Call->getNumArgs() == 2) {
    To = Call->getArg(0);
    Value = Call->getOperator() == OO_Equal ? Call->getArg(1) : nullptr;
  } else if (auto *Call = dyn_cast<CXXMemberCallExpr>(S);
             Call && Call->getMethodDecl() &&
             !Call->getMethodDecl()->isConst() &&
             isOfStd(*Call->getMethodDecl())) {
    To = Call->getImplicitObjectArgument(); // push_back, store, ...
    Value = identifierOf(Call->getMethodDecl()) == "store" ? Call->getArg(0)
                                                           : nullptr;
  }
  const ValueDecl *Place = objectOf(To);
  auto *Variable = dyn_cast_or_null<VarDecl>(Place);
  if (!Place || (Variable && Variable->hasLocalStorage() &&
                 !Variable->getType()->isPointerType()))
    return {};
  Stored Found{Place, std::nullopt, Value != nullptr};
  Expr::EvalResult Result;
  if (Value && !Value->isValueDependent() &&
      Value->EvaluateAsInt(Result, Context))
    Found.Value = Result.Val.getInt();
  return Found;
}

/// Returns true if a function that synchronizes writes something else than
/// Value to Place, other than before it creates a thread.
static bool isSetBack(const ValueDecl *Place, const llvm::APSInt &Value,
                      const SyncModel &Model, const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  for (const FunctionSync &F : Model.functions()) {
    if (F.Syncs.empty() || isa<CXXConstructorDecl>(F.Function))
      continue; // Initializes it, before there are waiters.
    bool Found = false;
    forEachStmt(F.Function->getBody(), [&](const Stmt *S,
                                           ArrayRef<const Stmt *>) {
      Stored Each = storedBy(S, Context);
      Found |= Each.Place == Place &&
               !(Each.Value && llvm::APSInt::isSameValue(*Each.Value, Value)) &&
               llvm::none_of(F.Syncs, [&](const SyncSite &Thread) {
                 return Thread.Kind == SyncKind::CreateThread &&
                        SM.isBeforeInTranslationUnit(
                            S->getBeginLoc(), Thread.Site->getBeginLoc());
               });
    });
    if (Found)
      return true;
  }
  return false;
}

/// Returns true if Place is a state that waiters only look at: a number that no
/// function which waits on Condition writes. What is handed over is taken by
/// the waiter. pre: functions that wait on it are in this unit.
static bool isState(const ValueDecl *Place, const ValueDecl *Condition,
                    const SyncModel &Model, const ASTContext &Context) {
  bool Waited = false, Taken = false;
  for (const FunctionSync &F : Model.functions()) {
    if (llvm::none_of(F.Syncs, [&](const SyncSite &S) {
          return (S.Kind == SyncKind::Wait || S.Kind == SyncKind::TimedWait) &&
                 S.Object == Condition;
        }))
      continue;
    Waited = true;
    forEachStmt(F.Function->getBody(),
                [&](const Stmt *S, ArrayRef<const Stmt *>) {
                  Taken |= storedBy(S, Context).Place == Place;
                });
  }
  return Condition && Waited && !Taken &&
         Place->getType()->isIntegralOrEnumerationType();
}

/// Returns true if the waker only sets flags that are never set back, at the
/// end of a program or once for an object, or states that waiters look at.
static bool happensOnce(const SyncSite &Signal, const HeldMutex &Held,
                        const FunctionSync &F, const SyncModel &Model,
                        const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  if (isa<CXXDestructorDecl>(F.Function) || namesEnd(identifierOf(F.Function)))
    return true;
  for (const SyncSite &S : F.Syncs)
    if (S.Kind == SyncKind::Join &&
        SM.isBeforeInTranslationUnit(Signal.Site->getBeginLoc(),
                                     S.Site->getBeginLoc()))
      return true;
  unsigned Flags = 0, Others = 0;
  forEachStmt(F.Function->getBody(), [&](const Stmt *S,
                                         ArrayRef<const Stmt *>) {
    if ((Held.Lock && SM.isBeforeInTranslationUnit(
                          S->getBeginLoc(), Held.Lock->Site->getBeginLoc())) ||
        (Held.Unlock &&
         SM.isBeforeInTranslationUnit(Held.Unlock->Site->getBeginLoc(),
                                      S->getBeginLoc())))
      return;
    bool Syncs = llvm::any_of(
        F.Syncs, [&](const SyncSite &Each) { return Each.Site == S; });
    if (Stored Each = storedBy(S, Context); Each.Place && !Syncs)
      ++((Each.Value && !isSetBack(Each.Place, *Each.Value, Model, Context)) ||
                 (Each.IsPlain &&
                  isState(Each.Place, Signal.Object, Model, Context))
             ? Flags
             : Others);
  });
  return Flags && !Others;
}

/// Adds the fields and global variables that E names. Leaves out those that it
/// compares with a limit: a queue that is not full yet changes no state.
static void addShared(const Stmt *E,
                      llvm::SmallPtrSetImpl<const ValueDecl *> &Into) {
  forEachStmt(E, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
    if (llvm::any_of(Parents, [](const Stmt *P) {
          auto *Compare = dyn_cast<BinaryOperator>(P);
          auto *Limit = Compare ? dyn_cast<IntegerLiteral>(
                                      Compare->getRHS()->IgnoreParenCasts())
                                : nullptr;
          return Compare && Compare->isRelationalOp() &&
                 !(Compare->getOpcode() == BO_LE && Limit &&
                   Limit->getValue() == 0);
        }))
      return;
    if (auto *Member = dyn_cast<MemberExpr>(S))
      if (isa<FieldDecl>(Member->getMemberDecl()))
        Into.insert(Member->getMemberDecl());
    if (auto *Ref = dyn_cast<DeclRefExpr>(S))
      if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
          Variable && Variable->hasGlobalStorage())
        Into.insert(Variable);
  });
}

/// Returns true if Signal is sent only when a state changes that F itself
/// changes: when a queue was empty, or when a count becomes zero.
static bool marksChange(const SyncSite &Signal, const HeldMutex &Held,
                        const FunctionSync &F) {
  llvm::SmallPtrSet<const ValueDecl *, 8> Tested, Written;
  llvm::SmallPtrSet<const VarDecl *, 4> Locals;
  for (const Stmt *S : Signal.Parents) {
    auto *If = dyn_cast<IfStmt>(S);
    if (!If || (Held.Lock && llvm::is_contained(Held.Lock->Parents, S)))
      continue;
    addShared(If->getCond(), Tested);
    forEachStmt(If->getCond(), [&](const Stmt *E, ArrayRef<const Stmt *>) {
      auto *Ref = dyn_cast<DeclRefExpr>(E);
      auto *Local = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
      if (Local && Local->hasLocalStorage())
        Locals.insert(Local);
    });
  }
  if (Tested.empty() && Locals.empty())
    return false;
  forEachStmt(F.Function->getBody(), [&](const Stmt *S,
                                         ArrayRef<const Stmt *>) {
    const Expr *To = nullptr, *Value = nullptr;
    if (auto *Assign = dyn_cast<BinaryOperator>(S);
        Assign && Assign->isAssignmentOp()) {
      To = Assign->getLHS();
      Value = Assign->getRHS();
    } else if (auto *Step = dyn_cast<UnaryOperator>(S);
               Step && Step->isIncrementDecrementOp()) {
      To = Step->getSubExpr();
    } else if (auto *Call = dyn_cast<CXXMemberCallExpr>(S);
               Call && Call->getMethodDecl() &&
               !Call->getMethodDecl()->isConst() &&
               isOfStd(*Call->getMethodDecl())) {
      To = Call->getImplicitObjectArgument();
    } else if (auto *Declaration = dyn_cast<DeclStmt>(S)) {
      // `bool was_empty = q->first == 0;`
      for (const Decl *D : Declaration->decls())
        if (auto *Local = dyn_cast<VarDecl>(D); Local && Locals.contains(Local))
          addShared(Local->getInit(), Tested);
    }
    auto *Ref = To ? dyn_cast<DeclRefExpr>(To->IgnoreParenImpCasts()) : nullptr;
    auto *Local = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
    if (Local && Locals.contains(Local))
      addShared(Value, Tested);
    else if (To)
      addShared(To, Written);
  });
  return llvm::any_of(Tested,
                      [&](const ValueDecl *D) { return Written.contains(D); });
}

/// Returns true if a thread waits on Condition in a variable of its own stack:
/// only the mutex keeps it from leaving before the signal is sent.
static bool isOnStack(const ValueDecl *Condition, const SyncModel &Model) {
  for (const FunctionSync &F : Model.functions())
    for (const SyncSite &S : F.Syncs) {
      if ((S.Kind != SyncKind::Wait && S.Kind != SyncKind::TimedWait) ||
          !Condition || S.Object != Condition)
        continue;
      const Expr *On = nullptr;
      if (auto *Member = dyn_cast<CXXMemberCallExpr>(S.Site))
        On = Member->getImplicitObjectArgument();
      else if (auto *Call = dyn_cast<CallExpr>(S.Site);
               Call && Call->getNumArgs() > 0)
        On = Call->getArg(0)->IgnoreParenCasts();
      if (auto *Address = dyn_cast_or_null<UnaryOperator>(On))
        On = Address->getSubExpr();
      auto *Local = On ? localIn(On) : nullptr;
      if (Local && !Local->getType()->isPointerType() &&
          !isa<ParmVarDecl>(Local))
        return true;
    }
  return false;
}

/// Returns true if what follows Signal while the mutex is held may take as long
/// as a wake-up: a loop, or a call of a function that is not known to be short.
static bool takesLong(const SyncSite &Signal, const HeldMutex &Held,
                      const FunctionSync &F) {
  // A macro that locks a block may write loops that run once.
  auto Loop = llvm::find_if(llvm::reverse(Signal.Parents), [](const Stmt *S) {
    return isLoop(S) && !S->getBeginLoc().isMacroID();
  });
  bool After = false, Long = Loop != Signal.Parents.rend() && Held.Lock &&
                             !llvm::is_contained(Held.Lock->Parents, *Loop);
  if (!Held.Block)
    return Long;
  for (const Stmt *Part : Held.Block->body()) {
    if (Held.Unlock && (Part == Held.Unlock->Site ||
                        llvm::is_contained(Held.Unlock->Parents, Part)))
      break;
    if (After)
      forEachStmt(Part, [&](const Stmt *S, ArrayRef<const Stmt *>) {
        bool Syncs = llvm::any_of(
            F.Syncs, [&](const SyncSite &Each) { return Each.Site == S; });
        Long |= isLoop(S) ||
                (isa<CallExpr>(S) && !Syncs && !isa<CXXOperatorCallExpr>(S));
      });
    After |= Part == Held.Part;
  }
  return Long;
}

static constexpr llvm::StringLiteral Broadcasts = "Broadcasts";

void SignalLockedCheck::storeOptions(
    clang::tidy::ClangTidyOptions::OptionMap &Into) {
  Options.store(Into, Broadcasts, Options.get(Broadcasts, false));
}

void SignalLockedCheck::inspect(const SyncModel &Model,
                                const ASTContext &Context) {
  const bool WithBroadcasts = Options.get(Broadcasts, false);
  for (const FunctionSync &F : Model.functions())
    for (const SyncSite &Signal : F.Syncs) {
      if (Signal.Kind != SyncKind::Signal &&
          (Signal.Kind != SyncKind::Broadcast || !WithBroadcasts))
        continue;
      const HeldMutex *Needed = nullptr;
      std::vector<HeldMutex> All = heldAt(Signal, F);
      for (const HeldMutex &Held : All)
        if (!waitsWithAnother(Signal.Object, Held.Mutex, Model))
          Needed = &Held;
      if (!Needed || happensOnce(Signal, *Needed, F, Model, Context) ||
          marksChange(Signal, *Needed, F) || isOnStack(Signal.Object, Model) ||
          !claim(Signal.Site->getExprLoc(), F.Function, Context))
        continue;
      std::vector<FixItHint> Fix =
          signalAfterRelease(Signal, *Needed, F, Context);
      DiagnosticBuilder Diag = report(
          *Signal.Site, *Signal.Site, *F.Function,
          "wakes " +
              std::string(Signal.Kind == SyncKind::Signal ? "a thread"
                                                          : "threads") +
              " that " +
              (Signal.Kind == SyncKind::Signal ? "needs " : "need ") +
              nameOf(Needed->Mutex) + ", still held" +
              (takesLong(Signal, *Needed, F) ? " for more work" : ""),
          Fix.empty()
              ? "wake after the release, unless a waiter destroys " +
                    (Signal.Object ? nameOf(Signal.Object) : "the condition")
              : "wake after the release",
          Signal.Kind == SyncKind::Signal ? "it sleeps again"
                                          : "they sleep again");
      for (const FixItHint &Hint : Fix)
        Diag << Hint;
    }
}

} // namespace vfriendly::tidy
