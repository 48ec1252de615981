//===- SleepingPolls.cpp - Ways around a loop that sleep and look ---------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/SleepSearch.h"

#include "checkers/common/Counting.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ExprCXX.h"

#include <cerrno>

using namespace clang;

namespace vfriendly::tidy {

/// Adds what the loop assigns to a local variable. A variable that is stepped
/// anywhere counts.
void SleepSearch::addLocal(const VarDecl &Variable, Causes &Found,
                           Variables &Seen) const {
  auto Known = Changes.find(&Variable);
  if (Known == Changes.end() || !Seen.insert(&Variable).second)
    return;
  for (const Change &Each : Known->second) {
    Found.Count |= Each.IsStep;
    // What is added to may be what was got.
    Found.Bounded |= Each.IsStep && Idle.contains(Each.In) &&
                     (!Each.Value || constantOf(Each.Value, Context));
    if (!Each.Value || !Idle.contains(Each.In))
      continue;
    Found.add(causesOf(Each.Value, Seen));
    // A flag has the value of the condition under which it is set.
    if (!Each.IsStep && constantOf(Each.Value, Context) &&
        Variable.getType()->isIntegerType())
      for (const CFGBlock *Before : Each.In->preds())
        if (Before && Before->succ_size() == 2 && Idle.contains(Before))
          Found.add(causesOf(conditionOf(*Before), Seen));
  }
}

Causes SleepSearch::causesOf(const Expr *E, Variables &Seen) const {
  Causes Found;
  if (!E)
    return Found;
  forEachStmt(E, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
    if (isErrno(S)) {
      Found.Errno = true;
      return;
    }
    switch (Effects.lookup(S)) {
    case IdleEffect::Clock:
      Found.Clock = true;
      return;
    case IdleEffect::Asks:
    case IdleEffect::Tries:
      Found.Asked.push_back(cast<Expr>(S));
      return;
    case IdleEffect::Looks:
      if (auto *Call = dyn_cast<CallExpr>(S);
          Call && Call->getDirectCallee() && !isa<CXXOperatorCallExpr>(Call)) {
        Found.Memory = true;
        auto *Method = dyn_cast<CXXMethodDecl>(Call->getDirectCallee());
        if (!Found.Looks && !isOfStd(*Call->getDirectCallee()) &&
            !(Method && Method->getParent()->isLambda()))
          Found.Looks = Call->getDirectCallee();
      } else if (isa<AtomicExpr>(S)) {
        Found.Memory = true;
      }
      return;
    default:
      break;
    }
    // Which of several objects is looked at decides nothing.
    if (llvm::any_of(Parents, [&](const Stmt *P) {
          return isa<ArraySubscriptExpr>(P) ||
                 Effects.lookup(P) == IdleEffect::Looks;
        }))
      return;
    if (auto *Ref = dyn_cast<DeclRefExpr>(S)) {
      auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
      if (Variable && Variable->hasLocalStorage() &&
          !Variable->getType()->isReferenceType())
        addLocal(*Variable, Found, Seen);
      else if (Variable && !Variable->getType().isConstQualified() &&
               !Variable->isConstexpr())
        Found.Memory = true;
    } else if (auto *Member = dyn_cast<MemberExpr>(S)) {
      Found.Memory |=
          isa<FieldDecl>(Member->getMemberDecl()) && !localIn(Member);
    } else if (auto *Element = dyn_cast<ArraySubscriptExpr>(S)) {
      if (const VarDecl *Variable = localIn(Element))
        addLocal(*Variable, Found, Seen);
      else
        Found.Memory = true;
    } else if (auto *Deref = dyn_cast<UnaryOperator>(S)) {
      Found.Memory |= Deref->getOpcode() == UO_Deref &&
                      !isErrno(Deref->getSubExpr()->IgnoreParenCasts());
    }
  });
  return Found;
}

/// Returns true if the thread comes to Sleep although Asked had something: the
/// sleep is a pause between pieces of work.
bool SleepSearch::alsoIfGot(const Expr *Asked, const CFGBlock &Sleep) const {
  for (const auto &[Block, Test] : Tests)
    if (Test.Of == Asked)
      for (unsigned I = 0; I != 2; ++I) {
        const CFGBlock *Next = *(Block->succ_begin() + I);
        if ((I == 0 ? Test.IfTrue : Test.IfFalse) != Says::Got || !Next)
          continue;
        Blocks Seen;
        SmallVector<const CFGBlock *, 16> Left{Next};
        while (!Left.empty()) {
          const CFGBlock *Each = Left.pop_back_val();
          if (Each == &Sleep)
            return true;
          bool AsksAgain = llvm::any_of(*Each, [&](const CFGElement &Element) {
            std::optional<CFGStmt> S = Element.getAs<CFGStmt>();
            return S && S->getStmt() == Asked;
          });
          if (!AsksAgain && Seen.insert(Each).second)
            for (const CFGBlock *To : Each->succs())
              if (To)
                Left.push_back(To);
        }
      }
  return false;
}

/// Returns true if the idle ways are taken because the kernel says that a call
/// would have blocked.
bool SleepSearch::wouldBlock() const {
  return llvm::any_of(Idle, [&](const CFGBlock *Block) {
    const Expr *Condition = conditionOf(*Block);
    if (!Condition || !causesOf(Condition).Errno)
      return false;
    bool Found = false;
    forEachStmt(Condition, [&](const Stmt *S, ArrayRef<const Stmt *>) {
      auto *E = dyn_cast<IntegerLiteral>(S);
      Found |= E && (E->getValue() == EAGAIN || E->getValue() == EINPROGRESS ||
                     E->getValue() == EALREADY);
    });
    return Found;
  });
}

/// Returns true if Sleep sleeps for a second or longer, or for a time that
/// somebody has chosen in seconds.
static bool isLong(const SyncSite &Sleep, const ASTContext &Context) {
  auto *Call = dyn_cast<CallExpr>(Sleep.Site);
  const FunctionDecl *Callee = calleeOf(Call);
  if (!Callee || Call->getNumArgs() == 0)
    return false;
  StringRef Name = identifierOf(Callee);
  if (Name == "sleep")
    return true;
  std::optional<int64_t> Time = constantOf(Call->getArg(0), Context);
  return Time && Name == "usleep" && *Time >= 1000000;
}

/// Returns the place where the idle ways take a lock and release it; null if
/// there is none. Asked may take it itself.
const SyncSite *SleepSearch::takenToLook(const Expr *Asked) const {
  const SyncSite *Lock = nullptr;
  auto IsReleased = [&](const SyncSite &Taken) {
    return isa<CXXConstructExpr>(Taken.Site) || Taken.Site == Asked ||
           llvm::any_of(F.Syncs, [&](const SyncSite &S) {
             return S.Kind == SyncKind::Unlock && S.Object == Taken.Object &&
                    Passed.contains(S.Site);
           });
  };
  for (const SyncSite &S : F.Syncs)
    if (S.Kind == SyncKind::Lock && !Lock && Passed.contains(S.Site) &&
        (!Asked || S.Site == Asked) && IsReleased(S))
      Lock = &S;
  return Lock;
}

/// Returns true if the thread comes from work to Sleep without another look by
/// one of Decides: the sleep is a pause between pieces of work.
bool SleepSearch::isAfterWork(const Blocks &Decides,
                              const CFGBlock &Sleep) const {
  Blocks Seen;
  SmallVector<const CFGBlock *, 16> Left{&Sleep};
  // From the sleep back to work.
  while (!Left.empty())
    for (const CFGBlock *From : Left.pop_back_val()->preds()) {
      if (!From || From == &Sleep || Decides.contains(From))
        continue;
      if (Work.contains(From) && !Printing.contains(From) &&
          returnsTo(&Sleep, *From))
        return true;
      if (Seen.insert(From).second)
        Left.push_back(From);
    }
  return false;
}

std::optional<SleepingPoll> SleepSearch::judge(const SyncSite &Sleep,
                                               const CFGBlock &At) {
  SleepingPoll Found{&Sleep, innermostLoop(Sleep.Parents)};
  const Expr *Asked = nullptr;
  Passed.clear();
  forEachIdle([&](const CFGBlock &, const Stmt *S) {
    IdleEffect Effect = Effects.lookup(S);
    Passed.insert(S);
    if (Effect == IdleEffect::Asks || Effect == IdleEffect::Tries) {
      if (!Asked || Effect == IdleEffect::Tries)
        Asked = cast<Expr>(S);
      Found.Tries |= Effect == IdleEffect::Tries;
    }
  });
  Found.Lock = takenToLook(Asked);
  bool Memory = false, MemoryWorks = false, ClockWorks = false, Counts = false;
  const FunctionDecl *Looks = nullptr;
  Blocks Decides;
  for (const CFGBlock *Block : Idle)
    for (unsigned I = 0; I != Block->succ_size(); ++I) {
      const CFGBlock *Next = *(Block->succ_begin() + I);
      if (!Next)
        continue;
      Causes By = causesOf(conditionOf(*Block));
      if (staysIn(*Block, I) && Idle.contains(Next)) {
        // It looks only when that is due.
        ClockWorks |= By.Clock && !leavesIdle(*Block);
        continue;
      }
      bool Works = returnsTo(Next, At);
      Counts |= By.Bounded && !Works;
      if (By.Clock) {
        ClockWorks |= Works && !Printing.contains(Next);
      } else if (By.Memory && !By.Count && By.Asked.empty()) {
        (Works ? MemoryWorks : Memory) = true;
        Decides.insert(Block);
        if (!Looks)
          Looks = By.Looks;
      }
    }
  auto *Slept = dyn_cast<CallExpr>(Sleep.Site);
  const bool UntilDue =
      Slept && llvm::any_of(Slept->arguments(), [&](const Expr *Time) {
        return causesOf(Time).Clock;
      });
  for (const auto &[Block, Test] : Tests)
    if (Test.Of == Asked)
      Decides.insert(Block);
  const bool Paces = UntilDue || ClockWorks || isAfterWork(Decides, At);
  if (Found.Lock && (Asked || Memory || MemoryWorks) && !Paces)
    return Found;
  Found.Lock = nullptr;
  const bool Yields = Sleep.Kind == SyncKind::Yield;
  if (Yields)
    return std::nullopt;
  if (Asked) {
    auto *Call = dyn_cast<CallExpr>(Asked);
    Found.Asked = Call ? Call->getDirectCallee() : nullptr;
    Found.WouldBlock = wouldBlock();
    if (Found.Tries || (Found.WouldBlock && !Counts))
      return Found;
    bool SaysNothing = llvm::any_of(Tests, [&](const auto &Each) {
      const ResultTest &Test = Each.second;
      if (Test.Of != Asked || !Idle.contains(Each.first))
        return false;
      for (unsigned I = 0; I != 2; ++I)
        if (Idle.contains(*(Each.first->succ_begin() + I)) &&
            (I == 0 ? Test.IfTrue : Test.IfFalse) == Says::Nothing)
          return true;
      return false;
    });
    if (!SaysNothing || Counts || Paces || isLong(Sleep, Context) || !Call ||
        Does.mayOpen(*Call) || alsoIfGot(Asked, At))
      return std::nullopt;
    return Found;
  }
  if (Looks && (Memory || MemoryWorks) && !Paces) {
    Found.Asked = Looks;
    return Found;
  }
  return std::nullopt;
}

std::optional<SleepingPoll> SleepSearch::find(const SyncSite &Sleep) {
  if (!build())
    return std::nullopt;
  ByCallers = false;
  std::optional<SleepingPoll> Found = search(Sleep);
  // `void step() { if (!take()) usleep(100); }`: its callers have the loop.
  if (Found || innermostLoop(Sleep.Parents) || F.Function->isMain() ||
      !F.Function->getReturnType()->isVoidType())
    return Found;
  ByCallers = true;
  Found = search(Sleep);
  if (!Found || Found->Lock || Found->Tries || Found->WouldBlock)
    return std::nullopt;
  Found->ByCallers = true;
  return Found;
}

std::optional<SleepingPoll> SleepSearch::search(const SyncSite &Sleep) {
  Work.clear();
  Printing.clear();
  Tests.clear();
  const CFGBlock *At = nullptr;
  for (const CFGBlock *Block : *Graph) {
    ResultTest Test = testOf(*Block);
    if (Test.Of)
      Tests[Block] = Test;
    for (const CFGElement &Element : *Block)
      if (std::optional<CFGStmt> S = Element.getAs<CFGStmt>()) {
        if (Effects.lookup(S->getStmt()) == IdleEffect::Works)
          Work.insert(Block);
        if (S->getStmt() == Sleep.Site)
          At = Block;
      }
  }
  // What is no error is something, unless nothing is told apart as well.
  for (auto &[Block, Test] : Tests) {
    const Expr *Of = Test.Of;
    if (llvm::any_of(Tests, [&](const auto &Other) {
          return Other.second.Of == Of &&
                 (Other.second.IfTrue == Says::Nothing ||
                  Other.second.IfFalse == Says::Nothing);
        }))
      continue;
    for (auto [One, Else] : {std::pair(&Test.IfTrue, &Test.IfFalse),
                             std::pair(&Test.IfFalse, &Test.IfTrue)})
      if (*One == Says::Failed && *Else == Says::Unknown)
        *Else = Says::Got;
  }
  if (!At || !findIdle(Sleep, *At))
    return std::nullopt;
  return judge(Sleep, *At);
}

std::vector<SleepingPoll> SleepingPolls::in(const FunctionSync &F) {
  std::vector<SleepingPoll> Found;
  SleepSearch Search(F, Does, Context);
  for (const SyncSite &S : F.Syncs)
    if (S.Kind == SyncKind::Sleep || S.Kind == SyncKind::Yield)
      if (std::optional<SleepingPoll> Poll = Search.find(S))
        Found.push_back(*Poll);
  return Found;
}

} // namespace vfriendly::tidy
