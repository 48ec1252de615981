//===- ItemWakeupCheck.cpp - vfriendly-blocking-sync-item-wakeup ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of iterations of a loop that is ignored. Such short loops
/// often put one end marker for each thread of a pool.
static constexpr uint64_t FewItems = 16;

/// Returns true if Loop is a loop that counts up to a constant of at most
/// FewItems.
static bool isOverFewItems(const Stmt *Loop, const ASTContext &Context) {
  auto *For = dyn_cast<ForStmt>(Loop);
  auto *Bound = For ? dyn_cast<BinaryOperator>(For->getCond()->IgnoreImpCasts())
                    : nullptr;
  Expr::EvalResult Value;
  return Bound && !Bound->getRHS()->isValueDependent() &&
         Bound->getRHS()->EvaluateAsInt(Value, Context) &&
         Value.Val.getInt().getLimitedValue() <= FewItems;
}

/// Returns true if an iteration calls a function, other than the callee of
/// Push, that may wait and returns a value. Such a function may wait for the
/// next item, and collecting items in a batch would delay the first ones until
/// then.
static bool waitsForItem(const FunctionSync &F, const CallSite &Push,
                         const Stmt *Loop, const SyncModel &Model) {
  return llvm::any_of(F.Calls, [&](const CallSite &C) {
    return C.Callee != Push.Callee && llvm::is_contained(C.Parents, Loop) &&
           !C.Callee->getReturnType()->isVoidType() && Model.mayWait(C.Callee);
  });
}

/// Maximum number of calls in an iteration besides Push. With more calls,
/// producing the item takes longer than the wake-up.
static constexpr unsigned FewCalls = 2;

/// Returns true if an iteration makes at most FewCalls calls besides Push,
/// which puts the item into the queue.
static bool mostlyPushes(const CallSite &Push, const Stmt *Loop) {
  unsigned Others = 0;
  forEachStmt(loopBody(Loop), [&](const Stmt *S, ArrayRef<const Stmt *> Above) {
    Others += isa<CallExpr>(S) && S != Push.Call &&
              !isa<CXXOperatorCallExpr>(S) &&
              !llvm::is_contained(Above, Push.Call);
  });
  return Others <= FewCalls;
}

/// Returns true if the arguments of Call depend on the item that the iteration
/// of Loop handles.
static bool passesItem(const CallExpr &Call, const Stmt *Loop) {
  const VarDecl *Item = nullptr;
  if (auto *Range = dyn_cast<CXXForRangeStmt>(Loop))
    Item = Range->getLoopVariable();
  bool Found = false;
  for (const Expr *Argument : Call.arguments())
    forEachStmt(Argument, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      auto *Ref = dyn_cast<DeclRefExpr>(S);
      auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
      if (!Variable)
        return;
      // The item is named by the loop's counter, the variable of a range-for,
      // or a variable that the loop's body declares.
      Found |= Variable == Item;
      forEachStmt(Loop, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
        if (auto *Declaration = dyn_cast<DeclStmt>(Below))
          Found |= llvm::is_contained(Declaration->decls(), Variable);
        if (auto *Step = dyn_cast<UnaryOperator>(Below))
          Found |= Step->isIncrementDecrementOp() &&
                   objectOf(Step->getSubExpr()) == Variable;
      });
    });
  return Found;
}

void ItemWakeupCheck::inspect(const SyncModel &Model,
                              const ASTContext &Context) {
  for (const FunctionSync &F : Model.functions())
    for (const CallSite &Push : F.Calls) {
      const Stmt *Loop = innermostLoop(Push.Parents);
      if (!Loop || !isOverKnownItems(Loop) || isOverFewItems(Loop, Context) ||
          !Model.alwaysWakes(Push.Callee) || !passesItem(*Push.Call, Loop) ||
          waitsForItem(F, Push, Loop, Model) || !mostlyPushes(Push, Loop) ||
          !claim(Push.Call->getExprLoc(), F.Function, Context))
        continue;
      report(*Push.Call, *Loop, *F.Function,
             "loop calls '" + Push.Callee->getNameAsString() +
                 "' for each item and wakes a waiter",
             "hand over items in batches");
    }
}

} // namespace vfriendly::tidy
