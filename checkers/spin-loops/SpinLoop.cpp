//===- SpinLoop.cpp - Recognition of waiting loops ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/SpinLoop.h"

#include "checkers/spin-loops/Doubts.h"
#include "checkers/spin-loops/TestsOfCalls.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

bool SpinLoop::isPlain() const {
  return llvm::all_of(Polls, [](const Poll &P) { return P.isPlain(); });
}

const Poll *SpinLoop::uniquePoll() const {
  const Poll *Unique = nullptr;
  for (const Poll &P : Polls) {
    if (P.TryLock || P.Unseen || !P.At.LValue)
      return nullptr;
    if (!Unique || (Unique->Tries && !P.Tries &&
                    isSamePlace(P.At, Unique->At, Facts->Context))) {
      Unique = &P;
      continue;
    }
    if (!isSamePlace(P.At, Unique->At, Facts->Context))
      return nullptr;
  }
  return Unique;
}

namespace {

/// Decides whether one loop waits, by the conditions of its exits.
class LoopJudge {
public:
  LoopJudge(SpinLoop &Found, bool Rescans)
      : Found(Found), Finder(*Found.Facts, Rescans),
        Doubts(*Found.Facts, Finder) {}

  bool judge();

private:
  /// One of the conditions that together make the loop take an exit.
  struct Leaf {
    const Expr *Condition;
    const Frame *In;
    bool Holds;
    bool IsSwitch = false;
  };
  using Alternative = SmallVector<Leaf, 2>;         ///< All of these.
  using Alternatives = SmallVector<Alternative, 2>; ///< One of these.

  Alternatives split(const Expr *E, const Frame *In, bool Holds) const;
  static Alternatives both(const Alternatives &A, const Alternatives &B);
  void judgeExit(const Guards &Exit);
  void judgeAlternative(const Alternative &A);
  bool doesWork();
  SmallVector<const Rmw *, 2> atOnce();
  const IterationHints &given();
  void note(const Causes &C);

  SpinLoop &Found;
  CauseFinder Finder;
  DoubtJudge Doubts;
  std::optional<IterationHints> Given;
  /// Compare-and-swaps that can succeed without another thread.
  SmallVector<Poll, 2> Retries;
  llvm::SmallPtrSet<const Rmw *, 4> Waited;
  bool AtOnce = false, Device = false, Walks = false, Waits = false;
};

LoopJudge::Alternatives LoopJudge::both(const Alternatives &A,
                                        const Alternatives &B) {
  Alternatives All;
  for (const Alternative &X : A)
    for (const Alternative &Y : B) {
      if (All.size() == 16)
        return All; // Waits do not have so many exits.
      All.push_back(X);
      All.back().append(Y.begin(), Y.end());
    }
  return All;
}

LoopJudge::Alternatives LoopJudge::split(const Expr *E, const Frame *In,
                                         bool Holds) const {
  const Expr *Bare = E->IgnoreParenImpCasts();
  if (auto *Not = dyn_cast<UnaryOperator>(Bare);
      Not && Not->getOpcode() == UO_LNot)
    return split(Not->getSubExpr(), In, !Holds);
  if (auto *Call = dyn_cast<CallExpr>(Bare))
    if (const FunctionDecl *Callee = Call->getDirectCallee();
        Callee && Callee->getIdentifier() &&
        Callee->getName().starts_with("__builtin_expect"))
      return split(Call->getArg(0), In, Holds);
  auto *Op = dyn_cast<BinaryOperator>(Bare);
  if (!Op || !Op->isLogicalOp())
    return {{{E, In, Holds}}};
  Alternatives Left = split(Op->getLHS(), In, Holds);
  Alternatives Right = split(Op->getRHS(), In, Holds);
  bool NeedsBoth = (Op->getOpcode() == BO_LAnd) == Holds;
  if (NeedsBoth)
    return both(Left, Right);
  Left.append(Right.begin(), Right.end());
  return Left;
}

void LoopJudge::note(const Causes &C) {
  for (const Poll &P : C.Polls)
    if (P.Tries)
      Waited.insert(P.Tries);
}

void LoopJudge::judgeAlternative(const Alternative &A) {
  bool ThisWaits = false, ThisAtOnce = false, ThisCounts = false,
       ThisReadsClock = false;
  const ASTContext &Context = Found.Facts->Context;
  SmallVector<Poll, 2> Polls, Retried;
  for (const Leaf &L : A) {
    Causes C = Finder.causesOf(L.Condition, L.In);
    note(C);
    Device |= C.Device;
    Walks |= C.Walks;
    ErrnoTest Errno = testOfErrno(*L.Condition, L.Holds, Context);
    bool Fails = !L.IsSwitch && isFailedTry(*L.Condition, L.Holds, Context);
    if (C.onlyOthers() && !Fails) {
      ThisWaits = true;
      Polls.append(C.Polls.begin(), C.Polls.end());
    }
    ThisAtOnce |= C.AtOnce || Fails ||
                  (A.size() == 1 && Errno == ErrnoTest::IsNotInterrupted);
    for (const Poll &P : C.Polls)
      if (C.AtOnce && P.Tries)
        Retried.push_back(P);
    ThisCounts |= C.Own && Errno == ErrnoTest::None;
    ThisReadsClock |= C.Clock;
  }
  // A plain variable that is tested beside a counter, as in `i++ < n ||
  // verbose`, is a setting and not polled.
  if (ThisCounts &&
      llvm::all_of(Polls, [](const Poll &P) { return P.isPlain(); }))
    ThisWaits = false;
  if (ThisWaits) {
    Waits = true;
    Found.Polls.append(Polls.begin(), Polls.end());
    return;
  }
  if (ThisAtOnce && Retried.empty())
    AtOnce = true;
  Retries.append(Retried);
  Found.Counts |= ThisCounts && !ThisReadsClock;
  Found.ReadsClock |= ThisReadsClock;
}

void LoopJudge::judgeExit(const Guards &Exit) {
  Alternatives All = {{}};
  for (const Guard &G : Exit)
    All = both(All, G.IsSwitch
                        ? Alternatives{{{G.Condition, G.In, G.Holds, true}}}
                        : split(G.Condition, G.In, G.Holds));
  for (const Alternative &A : All)
    judgeAlternative(A);
}

/// Returns true if the loop does more than wait: it traverses data, or executes
/// a read-modify-write on which no exit depends. Setting the same bits in each
/// iteration, to announce a waiter, is allowed.
bool LoopJudge::doesWork() {
  for (const Rmw &R : Found.Facts->Rmws)
    if (R.Op.Kind != AtomicKind::Load && R.Op.Kind != AtomicKind::SetBits &&
        !Waited.contains(&R) && !Doubts.isUndone(R))
      return true;
  for (const auto &[Variable, Writes] : Found.Facts->Writes)
    for (const Write &W : Writes)
      if (W.Assigned && Finder.causesOf(W.Assigned, W.In).Walks)
        return true;
  return false;
}

/// Finds out whether the function draws a ticket from the object, or counts its
/// arrival, before it waits.
class CountFinder {
public:
  CountFinder(SourceLocation Loop, const SourceManager &SM)
      : Loop(Loop), SM(SM) {}

  /// Variables with the result of a fetch-and-add.
  VarSet Drawn;
  bool CountsIn = false;

  void visit(const Stmt *S) {
    if (!S || isLeaf(S))
      return;
    if (auto *Decls = dyn_cast<DeclStmt>(S))
      for (const Decl *D : Decls->decls())
        if (auto *Variable = dyn_cast<VarDecl>(D);
            Variable && Variable->getInit() && counts(Variable->getInit()) &&
            isBeforeLoop(*S))
          Drawn.insert(Variable);
    if (auto *Assign = dyn_cast<BinaryOperator>(S);
        Assign && Assign->getOpcode() == BO_Assign && counts(Assign->getRHS()))
      if (auto *Ref = dyn_cast<DeclRefExpr>(Assign->getLHS()->IgnoreParens()))
        if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
            Variable && isBeforeLoop(*S))
          Drawn.insert(Variable);
    if (auto *E = dyn_cast<Expr>(S))
      CountsIn |= isCount(E) && isBeforeLoop(*S);
    for (const Stmt *Child : S->children())
      visit(Child);
  }

private:
  /// Returns true if S is before the loop. This test is expensive, so callers
  /// evaluate it last.
  bool isBeforeLoop(const Stmt &S) const {
    return S.getBeginLoc().isValid() &&
           SM.isBeforeInTranslationUnit(S.getBeginLoc(), Loop);
  }
  static bool isZero(const Expr *E) {
    auto *Literal =
        E ? dyn_cast<IntegerLiteral>(E->IgnoreParenImpCasts()) : nullptr;
    return Literal && Literal->getValue() == 0;
  }
  static bool isCount(const Expr *E) {
    E = E->IgnoreParenImpCasts();
    if (std::optional<AtomicOp> Op = matchAtomicOp(E))
      return Op->Kind == AtomicKind::Modify && !isZero(Op->Value);
    if (auto *Op = dyn_cast<UnaryOperator>(E);
        Op && Op->isIncrementDecrementOp()) {
      const Expr *Counter = Op->getSubExpr()->IgnoreParens();
      auto *Ref = dyn_cast<DeclRefExpr>(Counter);
      auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
      return isa<MemberExpr>(Counter) ||
             (Variable && Variable->hasGlobalStorage());
    }
    return false;
  }
  static bool counts(const Expr *E) {
    const Expr *Bare = E->IgnoreParenCasts();
    if (isCount(Bare))
      return true;
    auto *Op = dyn_cast<BinaryOperator>(Bare);
    return Op && (counts(Op->getLHS()) || counts(Op->getRHS()));
  }

  SourceLocation Loop;
  const SourceManager &SM;
};

bool namesAny(const Stmt *S, const VarSet &Variables) {
  if (!S)
    return false;
  if (auto *Ref = dyn_cast<DeclRefExpr>(S))
    if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl()))
      return Variables.contains(Variable);
  return llvm::any_of(S->children(), [&](const Stmt *Child) {
    return namesAny(Child, Variables);
  });
}

/// Returns true for a member of a structure that contains a pointer to its own
/// type.
bool isInQueueNode(const Place &P) {
  auto *Member =
      P.LValue ? dyn_cast<MemberExpr>(P.LValue->IgnoreParenCasts()) : nullptr;
  auto *Field = Member ? dyn_cast<FieldDecl>(Member->getMemberDecl()) : nullptr;
  if (!Field)
    return false;
  auto LinksTo = [](QualType T, const RecordDecl *Record) {
    if (auto *Atomic = T->getAs<clang::AtomicType>())
      T = Atomic->getValueType();
    if (auto *Special = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
            T->getAsCXXRecordDecl());
        Special && isAtomicType(T) && Special->getTemplateArgs().size() == 1)
      T = Special->getTemplateArgs()[0].getAsType();
    return T->isPointerType() && T->getPointeeType()->getAsRecordDecl() &&
           T->getPointeeType()->getAsRecordDecl()->getCanonicalDecl() ==
               Record->getCanonicalDecl();
  };
  const RecordDecl *Record = Field->getParent();
  return llvm::any_of(Record->fields(), [&](const FieldDecl *F) {
    return LinksTo(F->getType(), Record);
  });
}

/// Returns true if S tests the lowest bit of a version.
bool testsOddness(const Stmt *S) {
  if (!S)
    return false;
  if (auto *Op = dyn_cast<BinaryOperator>(S);
      Op && (Op->getOpcode() == BO_And || Op->getOpcode() == BO_Rem)) {
    auto *Mask = dyn_cast<IntegerLiteral>(Op->getRHS()->IgnoreParenImpCasts());
    unsigned Wanted = Op->getOpcode() == BO_And ? 1 : 2;
    if (Mask && Mask->getValue() == Wanted)
      return true;
  }
  return llvm::any_of(S->children(),
                      [](const Stmt *Child) { return testsOddness(Child); });
}

bool versionIsReread(const LoopFacts &Facts) {
  return Facts.Rmws.empty() &&
         llvm::any_of(Facts.Exits, [](const Guards &Exit) {
           return llvm::any_of(
               Exit, [](const Guard &G) { return testsOddness(G.Condition); });
         });
}

SpinKind nameKind(const SpinLoop &Spin, bool InnerPolls) {
  bool Tries = false, Reads = InnerPolls, Calls = false;
  for (const Poll &P : Spin.Polls) {
    Tries |= P.Tries != nullptr;
    Reads |= !P.Tries && !P.TryLock && !P.Unseen;
    Calls |= P.TryLock != nullptr;
  }
  if (Tries)
    return Reads ? SpinKind::TestAndTestAndSet : SpinKind::TryLock;
  if (Calls)
    return SpinKind::TryLockCall;

  CountFinder Counts(Spin.Shape.keyword(),
                     Spin.Facts->Context.getSourceManager());
  Counts.visit(Spin.Facts->root()->Function->getBody());
  for (const Guards &Exit : Spin.Facts->Exits)
    for (const Guard &G : Exit)
      if (namesAny(G.Condition, Counts.Drawn))
        return SpinKind::Ticket;
  if (isInQueueNode(Spin.Polls.front().At))
    return SpinKind::Queue;
  if (Counts.CountsIn)
    return SpinKind::Barrier;
  return versionIsReread(*Spin.Facts) ? SpinKind::SeqLock : SpinKind::Flag;
}

/// Returns the read-modify-writes that can succeed without another thread.
SmallVector<const Rmw *, 2> LoopJudge::atOnce() {
  SmallVector<const Rmw *, 2> Found;
  for (const Rmw &R : this->Found.Facts->Rmws)
    if (R.Op.Kind == AtomicKind::CompareExchange && Finder.causesOf(R).AtOnce)
      Found.push_back(&R);
  return Found;
}

const IterationHints &LoopJudge::given() {
  if (!Given)
    Given = hintsOfIterations(Found.Shape, *Found.Facts, atOnce());
  return *Given;
}

bool LoopJudge::judge() {
  const LoopFacts &Facts = *Found.Facts;
  for (const Guards &Exit : Facts.Exits) {
    judgeExit(Exit);
    if (AtOnce || Device || Walks)
      return false;
  }
  if (doesWork())
    return false;
  // A loop that retries a compare-and-swap counts as a wait only if it also
  // waits before each attempt, as a loop does that takes a lock.
  if (!Retries.empty()) {
    if (!given().Waits)
      return false;
    Found.Polls.append(Retries);
  } else if (!Waits) {
    return false;
  }
  // If each iteration executes a read-modify-write that can succeed at once,
  // the loop is an update and no wait. It may choose one of several updates by
  // the value that it reads.
  if (!Facts.Rmws.empty() && !given().Waits && given().Retries)
    return false;
  for (const Hint &H : Facts.Hints) {
    Found.Pauses |= H.Effect == CallEffect::Pause;
    Found.Yields |= H.Effect == CallEffect::Yield;
    Found.Sleeps |= H.Effect == CallEffect::Sleep;
  }
  // Rejects a loop without spin hints that polls plain memory and can also end
  // at a bound of its own: it searches data.
  if (Found.isPlain() && Found.Counts && Facts.Hints.empty())
    return false;
  auto Tolerates = [&](bool MayStore) {
    return Facts.Doubts.empty() ||
           Doubts.tolerates(Found.Polls, given(), MayStore, Found.Counts);
  };
  // All stores are accepted only in the reader of a seqlock. Finding the loop's
  // kind takes a walk over the whole function, so the stores are first accepted
  // if the loop looks like such a reader. If its kind turns out to be another,
  // the stores are judged again below.
  bool MayStore = versionIsReread(Facts);
  if (!Tolerates(MayStore))
    return false;
  bool InnerPolls = llvm::any_of(Facts.InnerConditions, [&](auto &Inner) {
    return Finder.causesOf(Inner.first, Inner.second).onlyOthers();
  });
  Found.Kind = nameKind(Found, InnerPolls);
  if (MayStore && Found.Kind != SpinKind::SeqLock && !Tolerates(false))
    return false;
  Found.Doubt = Doubts.text();
  return true;
}

} // namespace

std::optional<SpinLoop> judgeLoop(const LoopShape &Shape,
                                  const FunctionDecl &Function,
                                  FunctionFacts &Functions) {
  SpinLoop Found;
  Found.Shape = Shape;
  Found.Facts =
      std::make_unique<LoopFacts>(Function.getASTContext(), Functions);
  if (!collectFacts(Shape, Function, *Found.Facts) || areHopeless(*Found.Facts))
    return std::nullopt;
  if (LoopJudge(Found, /*Rescans=*/false).judge())
    return Found;

  // A loop that pauses between two scans of several objects is a wait, too.
  const LoopFacts &Facts = *Found.Facts;
  if (Facts.InnerConditions.empty() || Facts.Hints.empty() ||
      !hintsOfIterations(Shape, Facts).Pauses)
    return std::nullopt;
  Found.Polls.clear();
  Found.Counts = Found.ReadsClock = false;
  if (!LoopJudge(Found, /*Rescans=*/true).judge())
    return std::nullopt;
  if (Found.Doubt.empty())
    Found.Doubt = "each iteration polls several objects";
  return Found;
}

} // namespace vfriendly::tidy
