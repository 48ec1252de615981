//===- ThreadWork.cpp - What a new thread does ----------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/ThreadWork.h"

#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of calls between the thread's function and a wait.
static constexpr unsigned CallDepth = 3;

static bool waitsByName(StringRef Name) {
  return llvm::is_contained({"sem_wait", "sem_timedwait",
                             "pthread_barrier_wait", "arrive_and_wait",
                             "acquire"},
                            Name);
}

static bool waitsForInput(StringRef Name) {
  return llvm::is_contained({"read", "recv", "recvfrom", "recvmsg", "poll",
                             "select", "epoll_wait", "fread", "getline", "send",
                             "write", "connect"},
                            Name);
}

/// Returns true for a loop that waits: it does nothing, or tries to take a
/// lock by an atomic operation.
static bool spins(const Stmt *Loop) {
  const Stmt *Body = loopBody(Loop);
  auto *Block = dyn_cast_or_null<CompoundStmt>(Body);
  auto *While = dyn_cast<WhileStmt>(Loop);
  if (While &&
      (isa_and_nonnull<NullStmt>(Body) || (Block && Block->body_empty())))
    return true;
  const Expr *Condition = While               ? While->getCond()
                          : isa<DoStmt>(Loop) ? cast<DoStmt>(Loop)->getCond()
                                              : nullptr;
  bool Tries = false;
  if (Condition)
    forEachStmt(Condition, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      StringRef Name = identifierOf(calleeOf(S));
      Tries |= Name.contains("test_and_set") || Name.contains("exchange") ||
               Name.contains("compare_and_swap");
    });
  return Tries;
}

/// Returns true if Lock is taken once, after the loops of F, as for the result
/// of a thread.
static bool isAfterLoops(const SyncSite &Lock, const FunctionSync &F,
                         const SourceManager &Sources) {
  if (innermostLoop(Lock.Parents))
    return false;
  bool Before = false, After = false;
  forEachStmt(F.Function->getBody(),
              [&](const Stmt *S, ArrayRef<const Stmt *>) {
                if (!isLoop(S))
                  return;
                bool IsLater = Sources.isBeforeInTranslationUnit(
                    Lock.Site->getBeginLoc(), S->getBeginLoc());
                (IsLater ? After : Before) = true;
              });
  return Before && !After;
}

static bool waitsForOthers(const FunctionSync &F, const SyncModel &Model,
                           const SourceManager &Sources, unsigned Depth) {
  if (Model.mayWait(F.Function))
    return true;
  for (const SyncSite &Site : F.Syncs) {
    bool IsLock =
        Site.Kind == SyncKind::Lock || Site.Kind == SyncKind::SpinLock;
    if (Site.Kind == SyncKind::Wait || Site.Kind == SyncKind::TimedWait ||
        (IsLock && (Depth < CallDepth || !isAfterLoops(Site, F, Sources))))
      return true;
  }
  bool Spins = false;
  forEachStmt(F.Function->getBody(),
              [&](const Stmt *S, ArrayRef<const Stmt *>) {
                Spins |= isLoop(S) && spins(S);
              });
  return Spins || llvm::any_of(F.Calls, [&](const CallSite &Call) {
           const FunctionSync *Callee = Depth ? Model.of(Call.Callee) : nullptr;
           return waitsByName(identifierOf(Call.Callee)) ||
                  (Callee &&
                   waitsForOthers(*Callee, Model, Sources, Depth - 1));
         });
}

ThreadWork workOf(const SyncSite &Create, const SyncModel &Model,
                  const ASTContext &Context) {
  ThreadWork Found;
  forEachStmt(Create.Site, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    const FunctionDecl *Runs = nullptr;
    if (auto *Lambda = dyn_cast<LambdaExpr>(S))
      Runs = Lambda->getCallOperator();
    else if (auto *Ref = dyn_cast<DeclRefExpr>(S))
      Runs = dyn_cast<FunctionDecl>(Ref->getDecl());
    const FunctionSync *F = Runs ? Model.of(Runs) : nullptr;
    if (!F)
      return;
    Found.IsKnown = true;
    Found.WaitsForOthers |=
        waitsForOthers(*F, Model, Context.getSourceManager(), CallDepth);
    Found.WaitsOutside |= llvm::any_of(F->Syncs, [](const SyncSite &Site) {
      return Site.Kind == SyncKind::Sleep || Site.Kind == SyncKind::Accept;
    });
    Found.WaitsOutside |= llvm::any_of(F->Calls, [](const CallSite &Call) {
      return waitsForInput(identifierOf(Call.Callee));
    });
  });
  return Found;
}

} // namespace vfriendly::tidy
