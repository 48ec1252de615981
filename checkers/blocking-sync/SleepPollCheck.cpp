//===- SleepPollCheck.cpp - vfriendly-blocking-sync-sleep-poll ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Leaves loops that only read memory to vfriendly-spin-loops.
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Checks.h"

#include "checkers/blocking-sync/SleepingPolls.h"
#include "checkers/blocking-sync/TimedTests.h"
#include "checkers/common/ProgramFacts.h"

using namespace clang;

namespace vfriendly::tidy {

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

SleepPollCheck::SleepPollCheck(StringRef Name,
                               clang::tidy::ClangTidyContext *Context)
    : SyncCheck(Name, Context), Claims(perUnit<SleepClaims>()) {
  Claims->Judge = [this] { onEndOfTranslationUnit(); };
}

SleepPollCheck::~SleepPollCheck() { Claims->Judge = nullptr; }

void SleepPollCheck::onEndOfTranslationUnit() {
  if (!std::exchange(IsDone, true))
    SyncCheck::onEndOfTranslationUnit();
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
  SleepingPolls Search(Model, Context);
  for (const FunctionSync &F : Model.functions())
    for (const SleepingPoll &Poll : Search.in(F))
      // Several sleeps in one loop are steps of one wait.
      if (claim(Poll.Sleep->Site->getExprLoc(), F.Function, Context) &&
          (!Poll.Loop || Claims->Loops.insert(Poll.Loop->getBeginLoc()).second))
        reportPoll(Poll, F, Model);
}

static bool isCalledInLoop(const FunctionDecl &Function,
                           const SyncModel &Model) {
  return llvm::any_of(Model.functions(), [&](const FunctionSync &Caller) {
    return llvm::any_of(Caller.Calls, [&](const CallSite &Call) {
      return Call.Callee->getCanonicalDecl() == Function.getCanonicalDecl() &&
             innermostLoop(Call.Parents);
    });
  });
}

void SleepPollCheck::reportPoll(const SleepingPoll &Poll, const FunctionSync &F,
                                const SyncModel &Model) {
  const Expr &Site = *Poll.Sleep->Site;
  const Stmt &Loop = Poll.Loop ? *Poll.Loop : *F.Function->getBody();
  if (Poll.Lock) {
    const bool Yields = Poll.Sleep->Kind == SyncKind::Yield;
    const ValueDecl *Condition =
        Poll.Loop ? waitsOn(Poll.Loop, F, Model) : nullptr;
    report(Site, Loop, *F.Function,
           "loop takes " + nameOf(Poll.Lock->Object) +
               " to test for a change and " + (Yields ? "yields" : "sleeps") +
               " between tests",
           Condition ? "wait on '" + Condition->getNameAsString() +
                           "', which is notified, at once"
           : Yields  ? "wait on a condition variable"
                     : "wait on a condition variable that the writer signals",
           Yields ? "yielding keeps the vCPU busy"
                  : "each wake-up costs exits");
    return;
  }
  std::string Condition;
  if (Poll.ByCallers && !isCalledInLoop(*F.Function, Model)) {
    Condition = perUnit<ProgramFacts>()->conditionOfLoop(*F.Function);
    if (Condition.empty())
      return;
  }
  std::string Asked =
      Poll.Asked ? "'" + Poll.Asked->getNameAsString() + "'" : "a function";
  report(Site, Loop, *F.Function,
         (Poll.ByCallers
              ? "a loop around '" + F.Function->getNameAsString() + "' calls "
              : std::string("loop calls ")) +
             Asked + " again and again and sleeps between tries",
         Poll.WouldBlock ? "wait for the file by poll()"
         : Poll.Tries    ? "take the lock in a way that waits"
                         : "wait for what it asks for",
         "each wake-up costs exits even without a change");
  if (!Condition.empty())
    diag(Site.getExprLoc(), Condition, DiagnosticIDs::Note);
}

} // namespace vfriendly::tidy
