//===- LockTakers.cpp - Where no spin lock may be taken -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/LockTakers.h"

#include "checkers/common/SourceText.h"

#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum depth of calls from where such a thread begins to what takes a lock.
static constexpr unsigned MaxDepth = 3;

static bool calls(const FunctionSync &F,
                  std::initializer_list<StringRef> Names) {
  return llvm::any_of(F.Calls, [&](const CallSite &C) {
    return llvm::is_contained(Names, identifierOf(C.Callee));
  });
}

/// Returns the function that E names; null if it names none.
static const FunctionDecl *functionOf(const Expr *E) {
  return dyn_cast_or_null<FunctionDecl>(objectOf(E));
}

/// Returns true for the type of a signal handler.
static bool isHandlerType(const FunctionDecl &F) {
  if (!F.getReturnType()->isVoidType())
    return false;
  if (F.getNumParams() == 1)
    return F.getParamDecl(0)->getType()->isSpecificBuiltinType(
        BuiltinType::Int);
  return F.getNumParams() == 3 &&
         F.getParamDecl(0)->getType()->isSpecificBuiltinType(
             BuiltinType::Int) &&
         F.getParamDecl(1)->getType()->isPointerType() &&
         F.getParamDecl(2)->getType()->isVoidPointerType();
}

/// Returns true if F blocks signals.
static bool blocksSignals(const FunctionSync &F) {
  auto Blocks = [](StringRef Name) {
    return Name.contains("sigprocmask") || Name.contains("sigmask") ||
           (Name.contains_insensitive("signal") &&
            Name.contains_insensitive("block"));
  };
  return llvm::any_of(F.Calls,
                      [&](const CallSite &C) {
                        return Blocks(identifierOf(C.Callee));
                      }) ||
         llvm::any_of(F.Makes, [&](const MakeSite &M) {
           return Blocks(identifierOf(M.Made->getConstructor()->getParent()));
         });
}

/// Returns true if Condition holds in the child of the fork whose result is
/// Child or the value of Fork; false if it holds in the parent. Returns nothing
/// if it says neither.
static std::optional<bool> isOfChild(const Expr *Condition,
                                     const ValueDecl *Child, const Expr *Fork) {
  auto IsResult = [&](const Expr *E) {
    E = E->IgnoreParenCasts();
    if (auto *Assign = dyn_cast<BinaryOperator>(E);
        Assign && Assign->getOpcode() == BO_Assign)
      E = Assign->getRHS()->IgnoreParenCasts();
    return E == Fork || (Child && objectOf(E) == Child);
  };
  auto IsZero = [](const Expr *E) {
    auto *Literal = dyn_cast<IntegerLiteral>(E->IgnoreParenCasts());
    return Literal && Literal->getValue() == 0;
  };
  Condition = Condition->IgnoreParenImpCasts();
  if (auto *Not = dyn_cast<UnaryOperator>(Condition);
      Not && Not->getOpcode() == UO_LNot && IsResult(Not->getSubExpr()))
    return true;
  if (auto *Compare = dyn_cast<BinaryOperator>(Condition);
      Compare && Compare->isComparisonOp() && IsResult(Compare->getLHS()) &&
      IsZero(Compare->getRHS())) {
    if (Compare->getOpcode() == BO_EQ)
      return true;
    if (Compare->getOpcode() == BO_NE || Compare->getOpcode() == BO_GT)
      return false;
    return std::nullopt;
  }
  return IsResult(Condition) ? std::optional(false) : std::nullopt;
}

/// Returns what only the child of the fork at Site executes.
static std::vector<const Stmt *> childOf(const CallSite &Site,
                                         const FunctionDecl &F) {
  std::vector<const Stmt *> Found;
  const ValueDecl *Result = declaredAt(Site.Parents);
  for (const Stmt *S : Site.Parents)
    if (auto *Assign = dyn_cast<BinaryOperator>(S);
        Assign && Assign->getOpcode() == BO_Assign)
      Result = objectOf(Assign->getLHS());
  forEachStmt(F.getBody(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    if (auto *If = dyn_cast<IfStmt>(S)) {
      std::optional<bool> Is = isOfChild(If->getCond(), Result, Site.Call);
      if (const Stmt *Part = Is ? *Is ? If->getThen() : If->getElse() : nullptr)
        Found.push_back(Part);
    } else if (auto *Switch = dyn_cast<SwitchStmt>(S);
               Switch && isOfChild(Switch->getCond(), Result, Site.Call)) {
      for (const SwitchCase *Each = Switch->getSwitchCaseList(); Each;
           Each = Each->getNextSwitchCase())
        if (auto *Case = dyn_cast<CaseStmt>(Each))
          if (auto *Value =
                  dyn_cast<IntegerLiteral>(Case->getLHS()->IgnoreParenCasts());
              Value && Value->getValue() == 0)
            Found.push_back(Case->getSubStmt());
    }
  });
  return Found;
}

/// Returns true for a scheduling policy that is SCHED_FIFO or SCHED_RR.
static bool isRealTime(const Expr *Policy, const ASTContext &Context) {
  Expr::EvalResult Value;
  if (Policy->isValueDependent() || !Policy->EvaluateAsInt(Value, Context))
    return false;
  uint64_t Number = Value.Val.getInt().getLimitedValue();
  return Number == 1 || Number == 2;
}

namespace {
class Search {
public:
  Search(const SyncModel &Model, SpinLocks &Locks, const ASTContext &Context)
      : Model(Model), Locks(Locks), Context(Context) {}

  std::vector<LockTaker> run() {
    for (const FunctionSync &F : Model.functions()) {
      HasThreads |= llvm::any_of(F.Syncs, [](const SyncSite &S) {
        return S.Kind == SyncKind::CreateThread;
      });
      for (const CallSite &C : F.Calls)
        if (identifierOf(C.Callee) == "pthread_atfork")
          TakenAtFork |= reaches(C);
    }
    for (const FunctionSync &F : Model.functions()) {
      // Only functions that install a handler are searched for one.
      if (calls(F, {"sigaction", "signal"}))
        findHandlers(F);
      if (HasThreads && !TakenAtFork && calls(F, {"fork"}))
        findChildren(F);
      if (calls(F, {"pthread_attr_setschedpolicy", "pthread_setschedparam",
                    "sched_setscheduler"}))
        findRealTime(F);
    }
    for (const FunctionSync &F : Model.functions()) {
      if (Handlers.contains(F.Function))
        follow(F, TakerKind::Handler, 0);
      if (RealTime.contains(F.Function))
        follow(F, TakerKind::RealTime, 0);
    }
    return std::move(Found);
  }

private:
  /// Returns true if a handler that C registers with pthread_atfork takes a
  /// spin lock, or resets one in the child.
  bool reaches(const CallSite &C) {
    return llvm::any_of(C.Call->arguments(), [&](const Expr *Arg) {
      const FunctionSync *Handler = Model.of(functionOf(Arg));
      return Handler &&
             (Handler->HasAtomics || Locks.mayTake(*Handler, Context));
    });
  }
  void findHandlers(const FunctionSync &F) {
    forEachStmt(F.Function->getBody(), [&](const Stmt *S,
                                           ArrayRef<const Stmt *>) {
      auto *Ref = dyn_cast<DeclRefExpr>(S);
      auto *Handler = Ref ? dyn_cast<FunctionDecl>(Ref->getDecl()) : nullptr;
      if (!Handler || !isHandlerType(*Handler))
        return;
      if (const FunctionSync *Known = Model.of(Handler))
        Handlers.insert(Known->Function);
    });
  }
  void findChildren(const FunctionSync &F);
  void findRealTime(const FunctionSync &F);
  void add(const FunctionSync &F, TakerKind Kind, const SpinSite &Take);
  /// Adds what F and the functions that it calls take.
  void follow(const FunctionSync &F, TakerKind Kind, unsigned Depth);
  void followCall(const CallSite &C, TakerKind Kind, unsigned Depth) {
    if (const FunctionSync *Callee = Model.of(C.Callee);
        Callee && Depth < MaxDepth && Locks.of(C.Callee) == SpinOp::None)
      follow(*Callee, Kind, Depth + 1);
  }

  const SyncModel &Model;
  SpinLocks &Locks;
  const ASTContext &Context;
  bool HasThreads = false, TakenAtFork = false;
  llvm::DenseSet<const FunctionDecl *> Handlers, RealTime;
  std::vector<LockTaker> Found;
};
} // namespace

void Search::add(const FunctionSync &F, TakerKind Kind, const SpinSite &Take) {
  // All others that take the lock may block the signal meanwhile.
  if (Kind == TakerKind::Handler &&
      llvm::any_of(Model.functions(), [&](const FunctionSync &Other) {
        return &Other != &F && blocksSignals(Other) &&
               Locks.mayTake(Other, Context);
      }))
    return;
  Found.push_back({Kind, &F, Take});
}

void Search::follow(const FunctionSync &F, TakerKind Kind, unsigned Depth) {
  if (Locks.mayTake(F, Context))
    for (const SpinSite &Take : Locks.sitesOf(F, Context))
      if (Take.Op == SpinOp::Acquire)
        add(F, Kind, Take);
  for (const CallSite &C : F.Calls)
    followCall(C, Kind, Depth);
}

void Search::findChildren(const FunctionSync &F) {
  for (const CallSite &Fork : F.Calls) {
    if (identifierOf(Fork.Callee) != "fork")
      continue;
    for (const Stmt *Part : childOf(Fork, *F.Function)) {
      llvm::DenseSet<const Stmt *> Inside;
      forEachStmt(Part, [&](const Stmt *S, ArrayRef<const Stmt *>) {
        Inside.insert(S);
      });
      // Another program has no locks of this one.
      if (llvm::any_of(F.Calls, [&](const CallSite &C) {
            return Inside.contains(C.Call) &&
                   identifierOf(C.Callee).starts_with("exec");
          }))
        continue;
      if (Locks.mayTake(F, Context))
        for (const SpinSite &Take : Locks.sitesOf(F, Context))
          if (Take.Op == SpinOp::Acquire && Inside.contains(Take.Site))
            add(F, TakerKind::Child, Take);
      for (const CallSite &C : F.Calls)
        if (Inside.contains(C.Call))
          followCall(C, TakerKind::Child, 0);
    }
  }
}

void Search::findRealTime(const FunctionSync &F) {
  for (const CallSite &Set : F.Calls) {
    StringRef Name = identifierOf(Set.Callee);
    bool OfAttributes = Name == "pthread_attr_setschedpolicy";
    bool OfThread = Name == "pthread_setschedparam";
    if ((!OfAttributes && !OfThread && Name != "sched_setscheduler") ||
        Set.Call->getNumArgs() < 2 || !isRealTime(Set.Call->getArg(1), Context))
      continue;
    // The caller's own, or that of threads which it creates.
    const ValueDecl *Of = objectOf(Set.Call->getArg(0));
    if (!OfAttributes && (!Of || !OfThread || isa<FunctionDecl>(Of))) {
      RealTime.insert(F.Function);
      continue;
    }
    for (const SyncSite &S : F.Syncs) {
      auto *Create = dyn_cast<CallExpr>(S.Site);
      if (S.Kind != SyncKind::CreateThread || !Create ||
          identifierOf(calleeOf(Create)) != "pthread_create" ||
          Create->getNumArgs() != 4 ||
          objectOf(Create->getArg(OfAttributes ? 1 : 0)) != Of)
        continue;
      if (const FunctionSync *Start = Model.of(functionOf(Create->getArg(2))))
        RealTime.insert(Start->Function);
    }
  }
}

std::vector<LockTaker> findLockTakers(const SyncModel &Model, SpinLocks &Locks,
                                      const ASTContext &Context) {
  return Search(Model, Locks, Context).run();
}

} // namespace vfriendly::tidy
