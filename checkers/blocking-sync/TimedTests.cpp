//===- TimedTests.cpp - Waits that end only to test a flag ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/TimedTests.h"

#include "checkers/blocking-sync/Predicates.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Longest timeout in milliseconds that is reported. A thread that wakes up
/// once a second or less costs little, whatever it does then.
static constexpr int64_t MaxTimeout = 999;

/// Returns true for a wait for files that ends after a constant time.
static bool hasShortTimeout(const CallExpr &Call, const FunctionDecl &Callee) {
  StringRef Name = identifierOf(&Callee);
  if (!Callee.isExternC())
    return false;
  std::optional<unsigned> Index;
  if (Name == "poll")
    Index = 2;
  else if (Name == "epoll_wait" || Name == "epoll_pwait")
    Index = 3;
  Expr::EvalResult Value;
  if (!Index || *Index >= Call.getNumArgs() ||
      Call.getArg(*Index)->isValueDependent() ||
      !Call.getArg(*Index)->EvaluateAsInt(Value, Callee.getASTContext()))
    return false;
  llvm::APSInt Timeout = Value.Val.getInt();
  return Timeout.isStrictlyPositive() && Timeout <= MaxTimeout;
}

/// Returns true if S contains Part, or is it.
static bool contains(const Stmt *S, const Stmt *Part) {
  bool Found = false;
  forEachStmt(S, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
    Found |= Below == Part;
  });
  return Found;
}

/// Returns the variable that keeps the result of Call; null if none does.
static const VarDecl *resultOf(const CallExpr &Call,
                               ArrayRef<const Stmt *> Parents) {
  for (const Stmt *S : llvm::reverse(Parents)) {
    if (auto *Declaration = dyn_cast<DeclStmt>(S))
      return Declaration->isSingleDecl()
                 ? dyn_cast<VarDecl>(Declaration->getSingleDecl())
                 : nullptr;
    if (auto *Assign = dyn_cast<BinaryOperator>(S);
        Assign && Assign->getOpcode() == BO_Assign &&
        contains(Assign->getRHS(), &Call))
      return dyn_cast_or_null<VarDecl>(objectOf(Assign->getLHS()));
    if (!isa<Expr>(S))
      return nullptr;
  }
  return nullptr;
}

static bool names(const Stmt *S, const ValueDecl *Variable) {
  bool Found = false;
  forEachStmt(S, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
    auto *Ref = dyn_cast<DeclRefExpr>(Below);
    Found |= Ref && Variable && Ref->getDecl() == Variable;
  });
  return Found;
}

/// Returns true if S calls what has an effect: anything but locks, reads and
/// clocks.
static bool hasEffect(const Stmt *S, const FunctionSync &F) {
  bool Found = false;
  forEachStmt(S, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
    auto *Call = dyn_cast<CallExpr>(Below);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    auto *Method = dyn_cast_or_null<CXXMethodDecl>(Callee);
    bool Locks = llvm::any_of(F.Syncs, [&](const SyncSite &Site) {
      return Site.Site == Below &&
             (Site.Kind == SyncKind::Lock || Site.Kind == SyncKind::Unlock);
    });
    Found |= Call && !Locks &&
             !(Callee && (classifyCall(*Call, *Callee) != CallEffect::Other ||
                          (Method && Method->isConst() && isOfStd(*Callee))));
    auto *Assign = dyn_cast<BinaryOperator>(Below);
    const ValueDecl *To = Assign && Assign->isAssignmentOp()
                              ? objectOf(Assign->getLHS())
                              : nullptr;
    auto *Variable = dyn_cast_or_null<VarDecl>(To);
    Found |= To && !(Variable && Variable->hasLocalStorage());
  });
  return Found;
}

/// Returns S without what only ends the lives of temporaries.
static const Stmt *plain(const Stmt *S) {
  auto *Full = dyn_cast<FullExpr>(S);
  return Full ? Full->getSubExpr() : S;
}

static const Stmt *lastOf(const Stmt *S) {
  auto *Block = dyn_cast<CompoundStmt>(S);
  return !Block ? S : Block->body_empty() ? nullptr : Block->body_back();
}

/// Returns the flag that ends Loop: tested by its condition, or by an `if` that
/// leaves it.
static SharedPlaces flagsOf(const Stmt &Loop) {
  SharedPlaces All;
  if (const Expr *Condition = loopCondition(&Loop))
    for (const ValueDecl *Place : placesIn(Condition))
      All.insert(Place);
  if (auto *Body = dyn_cast<CompoundStmt>(loopBody(&Loop)))
    for (const Stmt *Part : Body->body())
      if (auto *If = dyn_cast<IfStmt>(Part))
        if (isa_and_nonnull<BreakStmt, ReturnStmt>(lastOf(If->getThen())))
          for (const ValueDecl *Place : placesIn(If->getCond()))
            All.insert(Place);
  return All;
}

/// Returns true if Loop does nothing after a timeout of Wait, whose result is
/// in Result, but to test and to wait again.
static bool onlyTests(const Stmt &Loop, const CallExpr &Wait,
                      const VarDecl *Result, const FunctionSync &F) {
  // It gives up after the timeout: do ret = wait(...); while (!flag && !ret);
  if (loopCondition(&Loop) && names(loopCondition(&Loop), Result))
    return false;
  auto *Body = dyn_cast<CompoundStmt>(loopBody(&Loop));
  if (!Body)
    return plain(loopBody(&Loop)) == &Wait;
  for (const Stmt *Part : Body->body()) {
    Part = plain(Part);
    if (Part == &Wait)
      continue;
    bool Asks = contains(Part, &Wait) || names(Part, Result);
    auto *If = dyn_cast<IfStmt>(Part);
    if (If &&
        (contains(If->getCond(), &Wait) || names(If->getCond(), Result))) {
      const Stmt *Last = lastOf(If->getThen());
      // What follows does not run after a timeout.
      if (isa_and_nonnull<ContinueStmt>(Last) && !hasEffect(If->getThen(), F))
        return true;
      // It gives up after the timeout, or on an error.
      if (isa_and_nonnull<BreakStmt, ReturnStmt, GotoStmt>(Last) ||
          If->getElse())
        return false;
      continue; // if (n > 0) ...
    }
    const Expr *Condition = loopCondition(Part);
    if (Condition && names(Condition, Result))
      continue; // for (i = 0; i < n; i++) ...
    if (isa<DeclStmt, BinaryOperator>(Part) && Asks)
      continue; // int n = poll(...);
    if (Asks || hasEffect(Part, F) || isLoop(Part))
      return false;
  }
  return true;
}

/// Returns one of Flags that a function other than F writes; null if none.
static const ValueDecl *setElsewhere(const SharedPlaces &Flags,
                                     const FunctionSync &F,
                                     const SyncModel &Model,
                                     const ASTContext &Context) {
  for (const FunctionSync &Other : Model.functions()) {
    if (Other.Function == F.Function || isa<CXXConstructorDecl>(Other.Function))
      continue;
    for (const PlaceWrite &Write :
         writesTo(Flags, Other.Function->getBody(), Context))
      if (Write.How == PlaceWrite::Other)
        return Write.Place;
  }
  return nullptr;
}

std::vector<TimedTest> findTimedTests(const FunctionSync &F,
                                      const SyncModel &Model,
                                      const ASTContext &Context) {
  std::vector<TimedTest> Found;
  auto Add = [&](const CallExpr &Wait, ArrayRef<const Stmt *> Parents,
                 const ValueDecl *Condition) {
    const Stmt *Loop = innermostLoop(Parents);
    if (!Loop || isa<CXXForRangeStmt>(Loop) ||
        (plain(loopBody(Loop)) != &Wait &&
         !llvm::is_contained(Parents, loopBody(Loop))) ||
        (loopCondition(Loop) && hasEffect(loopCondition(Loop), F)) ||
        !onlyTests(*Loop, Wait, resultOf(Wait, Parents), F))
      return;
    if (const ValueDecl *Flag = setElsewhere(flagsOf(*Loop), F, Model, Context))
      Found.push_back({&Wait, Loop, Flag, Condition});
  };
  for (const CallSite &C : F.Calls)
    if (hasShortTimeout(*C.Call, *C.Callee))
      Add(*C.Call, C.Parents, nullptr);
  for (const SyncSite &S : F.Syncs)
    if (auto *Wait = dyn_cast<CallExpr>(S.Site);
        Wait && S.Kind == SyncKind::TimedWait && S.Object &&
        identifierOf(calleeOf(Wait)) != "wait_until")
      Add(*Wait, S.Parents, S.Object);
  return Found;
}

} // namespace vfriendly::tidy
