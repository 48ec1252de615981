//===- Doubts.cpp - Effects that a waiting loop may have ------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/Doubts.h"

#include "checkers/common/ClangVersions.h"
#include "passes/common/TellingNames.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns the number that R adds to its object, negated for subtractions;
/// nullopt if the number is no constant.
static std::optional<uint64_t> amountOf(const Rmw &R, const LoopFacts &Facts) {
  bool Subtracts = false;
  if (auto *Builtin = dyn_cast<AtomicExpr>(R.Site)) {
    Subtracts = Builtin->getOpAsString().contains("sub");
  } else if (auto *Operator = dyn_cast<CXXOperatorCallExpr>(R.Site)) {
    Subtracts = Operator->getOperator() == OO_MinusMinus ||
                Operator->getOperator() == OO_MinusEqual;
    if (Operator->getOperator() == OO_PlusPlus ||
        Operator->getOperator() == OO_MinusMinus)
      return Subtracts ? ~uint64_t(0) : uint64_t(1);
  } else if (auto *Call = dyn_cast<CallExpr>(R.Site)) {
    if (const FunctionDecl *Callee = Call->getDirectCallee();
        Callee && Callee->getIdentifier())
      Subtracts = Callee->getName().contains("sub");
  } else if (auto *Asm = dyn_cast<GCCAsmStmt>(R.Site)) {
    AsmSum Sum = sumOfAsm(textOfAsm(*Asm));
    if (Sum.ByOne)
      return Sum.Subtracts ? ~uint64_t(0) : uint64_t(1);
    Subtracts = Sum.Subtracts;
  }
  // Atomics wrap around: -4u is equal to -4, and 1 << 63 to its own negative.
  // Assembly such as xadd overwrites the amount with its result.
  std::optional<uint64_t> Amount =
      constantOf(R.Op.Value, R.In, Facts, isa<GCCAsmStmt>(R.Site));
  return Subtracts && Amount ? -*Amount : Amount;
}

static Place placeOf(const Rmw &R) {
  return R.Op.ObjectIsPointer ? pointeeOf(R.Op.Object, R.In)
                              : placeOf(R.Op.Object, R.In);
}

DoubtJudge::DoubtJudge(const LoopFacts &Facts, CauseFinder &Finder)
    : Facts(Facts), Finder(Finder) {
  for (const Doubt &Enters : Facts.Doubts)
    for (const Doubt &Backs : Facts.Doubts) {
      if (Enters.What != Doubt::Modify || Backs.What != Doubt::Modify ||
          Enters.RmwIndex >= Backs.RmwIndex)
        continue;
      const Rmw &In = Facts.Rmws[Enters.RmwIndex];
      const Rmw &Out = Facts.Rmws[Backs.RmwIndex];
      std::optional<uint64_t> Added = amountOf(In, Facts),
                              Taken = amountOf(Out, Facts);
      if (Undone.contains(&In) || !Added || !Taken || *Added + *Taken != 0 ||
          !isSamePlace(placeOf(In), placeOf(Out), Facts.Context))
        continue;
      Undone.insert(&In);
      Undone.insert(&Out);
    }
  findRetracted();
}

/// Finds what an iteration publishes and retracts: at least two different
/// constants, written to one place by stores and exchanges.
void DoubtJudge::findRetracted() {
  struct Publication {
    Place Where;
    uint64_t What;
    const Doubt *Stored;
    const Rmw *Exchange;
  };
  SmallVector<Publication, 4> All;
  for (const Doubt &D : Facts.Doubts)
    if (D.What == Doubt::Publish)
      if (auto What = constantOf(D.Said, D.In, Facts))
        All.push_back({D.ByPointer ? pointeeOf(D.LValue, D.In)
                                   : vfriendly::tidy::placeOf(D.LValue, D.In),
                       *What, &D, nullptr});
  if (All.empty())
    return;
  for (const Rmw &R : Facts.Rmws)
    if (R.Op.Kind == AtomicKind::Exchange)
      if (auto What = constantOf(R.Op.Value             ? R.Op.Value
                                 : R.Inputs.size() == 1 ? R.Inputs.front()
                                                        : nullptr,
                                 R.In, Facts))
        All.push_back({placeOf(R), *What, nullptr, &R});
  for (const Publication &A : All)
    for (const Publication &B : All)
      if (A.What != B.What && isSamePlace(A.Where, B.Where, Facts.Context)) {
        if (A.Stored)
          Retracted.insert(A.Stored);
        if (A.Exchange)
          Undone.insert(A.Exchange);
      }
}

bool areHopeless(const LoopFacts &Facts) {
  // A loop without spin hints or inner waits may have only two kinds of
  // effects: calls that are doubted only because of their names, and the stores
  // of a seqlock's reader.
  return Facts.Hints.empty() && !Facts.HasInnerLoop &&
         llvm::any_of(Facts.Doubts, [](const Doubt &D) {
           return D.What != Doubt::Telling && D.What != Doubt::Store;
         });
}

void DoubtJudge::rely(const Twine &On) {
  if (Text.empty())
    Text = On.str();
}

/// Returns true for `if (!told) { told = true; ...`: a variable that is set
/// under the guard and nowhere else in the loop.
static bool happensOnce(const Guard &G, const LoopFacts &Facts) {
  const Expr *E = G.Condition->IgnoreParenImpCasts();
  if (auto *Not = dyn_cast<UnaryOperator>(E);
      Not && Not->getOpcode() == UO_LNot)
    E = Not->getSubExpr()->IgnoreParenImpCasts();
  auto *Ref = dyn_cast<DeclRefExpr>(E);
  auto *Flag = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  auto Written = Flag ? Facts.Writes.find({Flag, G.In}) : Facts.Writes.end();
  return Written != Facts.Writes.end() &&
         llvm::all_of(Written->second, [&](const Write &W) {
           return W.From == Write::Value && !W.Assigned->isValueDependent() &&
                  W.Assigned->isEvaluatable(Facts.Context) &&
                  llvm::any_of(W.Under, [&](const Guard &Under) {
                    return Under.Condition == G.Condition;
                  });
         });
}

/// Returns true for `iterations > most`: a counter or a clock, compared with a
/// limit in an ordinary variable.
bool DoubtJudge::reachesLimit(const Guard &G) {
  auto *Op = dyn_cast<BinaryOperator>(G.Condition->IgnoreParenImpCasts());
  if (!Op || !Op->isRelationalOp())
    return false;
  Causes Left = Finder.causesOf(Op->getLHS(), G.In);
  Causes Right = Finder.causesOf(Op->getRHS(), G.In);
  const Causes &Limit = Left.Polls.empty() ? Right : Left;
  const Causes &Reaches = Left.Polls.empty() ? Left : Right;
  return Limit.onlyOthers() && Reaches.Polls.empty() &&
         llvm::all_of(Limit.Polls, [](const Poll &P) { return P.isPlain(); });
}

/// Returns true if the doubted effect happens once, once in a number of
/// iterations, or after a time.
bool DoubtJudge::isGuarded(const Doubt &D, const IterationHints &Given) {
  return llvm::any_of(D.Under, [&](const Guard &G) {
    if (happensOnce(G, Facts))
      return true;
    Causes C = Finder.causesOf(G.Condition, G.In);
    if ((!C.Polls.empty() && !reachesLimit(G)) || C.Walks || C.AtOnce ||
        C.Device)
      return false;
    // A test of the clock is accepted only if the loop pauses: a loop that
    // sleeps and then reads the clock is a periodic job.
    return (C.Clock && Given.Pauses) || (C.Own && !C.Clock);
  });
}

static StringRef nameOf(const CallExpr &Call) {
  auto *D = dyn_cast_or_null<NamedDecl>(Call.getCalleeDecl());
  return D && D->getIdentifier() ? D->getName() : StringRef("a call");
}

namespace {

/// Finds a loop, branch or switch of the file that depends on a variable or
/// member.
class DecisionFinder : public RecursiveASTVisitor<DecisionFinder> {
public:
  explicit DecisionFinder(const ValueDecl &D) : D(D) {}
  bool shouldVisitTemplateInstantiations() const { return true; }

  bool VisitStmt(Stmt *S) {
    if (auto *If = dyn_cast<IfStmt>(S))
      look(If->getCond());
    else if (auto *Switch = dyn_cast<SwitchStmt>(S))
      look(Switch->getCond());
    else if (auto *Either = dyn_cast<AbstractConditionalOperator>(S))
      look(Either->getCond());
    else if (LoopShape Shape = shapeOf(S); Shape.Statement)
      look(Shape.Condition);
    return !Found;
  }

  bool Found = false;

private:
  void look(const Stmt *S) {
    if (!S || Found)
      return;
    if (auto *Ref = dyn_cast<DeclRefExpr>(S))
      Found |= Ref->getDecl()->getCanonicalDecl() == D.getCanonicalDecl();
    if (auto *Member = dyn_cast<MemberExpr>(S))
      Found |=
          Member->getMemberDecl()->getCanonicalDecl() == D.getCanonicalDecl();
    for (const Stmt *Child : S->children())
      look(Child);
  }

  const ValueDecl &D;
};

} // namespace

/// Returns true for a statistics counter: no decision in the file depends on
/// it.
static bool isStatistic(const Expr *LValue, const ASTContext &Context) {
  const Expr *E = LValue->IgnoreParenCasts();
  while (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E))
    E = Subscript->getBase()->IgnoreParenCasts();
  const ValueDecl *D = namedBy(E);
  if (!D)
    return false;
  DecisionFinder Finder(*D);
  Finder.TraverseDecl(Context.getTranslationUnitDecl());
  return !Finder.Found;
}

bool DoubtJudge::toleratesOne(const Doubt &D, ArrayRef<Poll> Polls,
                              const IterationHints &Given) {
  auto *Call = dyn_cast<CallExpr>(D.Site);
  if (D.What == Doubt::Telling) {
    rely("judged by the name of '" + nameOf(*Call) + "'");
    return true;
  }
  if (!Given.Any)
    return false;
  if (D.What == Doubt::Call && Given.Pauses && !namesWork(nameOf(*Call)) &&
      llvm::any_of(Polls, [&](const Poll &P) { return P.Unseen == Call; })) {
    rely("what '" + nameOf(*Call) + "' does is not seen");
    return true;
  }
  if (D.What == Doubt::Modify && Undone.contains(&Facts.Rmws[D.RmwIndex])) {
    rely("each iteration undoes its change of shared memory");
    return true;
  }
  if (D.What == Doubt::Publish && Retracted.contains(&D)) {
    rely("each iteration registers the thread and retracts that");
    return true;
  }
  if (D.What == Doubt::Count) {
    Place Counter = placeOf(D.LValue, D.In);
    if (llvm::none_of(Polls,
                      [&](const Poll &P) {
                        return isSamePlace(P.At, Counter, Facts.Context);
                      }) &&
        isStatistic(D.LValue, Facts.Context)) {
      rely("it also counts");
      return true;
    }
  }
  if (!isGuarded(D, Given))
    return false;
  rely("some of its iterations do more than poll");
  return true;
}

/// Returns true if one of Polls may belong to a device driver that waits until
/// the device has written to memory. A driver reads such memory through a
/// pointer, perhaps one that is cast to volatile for the read; threads of a
/// program use the name of a variable.
static bool mayBeDevice(ArrayRef<Poll> Polls) {
  return llvm::any_of(Polls, [](const Poll &P) {
    if (!P.At.LValue || P.Tries)
      return false;
    const Expr *E = P.At.LValue->IgnoreParenImpCasts();
    auto *Op = dyn_cast<UnaryOperator>(E);
    auto *Sum = dyn_cast<BinaryOperator>(E);
    return (Op && Op->getOpcode() == UO_Deref) || (Sum && Sum->isAdditiveOp());
  });
}

bool DoubtJudge::tolerates(ArrayRef<Poll> Polls, const IterationHints &Given,
                           bool MayStore, bool IsBounded) {
  bool OnlyDelays = llvm::none_of(
      Facts.Hints, [](const Hint &H) { return H.Effect != CallEffect::Sleep; });
  if (IsBounded && OnlyDelays && mayBeDevice(Polls))
    return false;
  return llvm::all_of(Facts.Doubts, [&](const Doubt &D) {
    return (MayStore && D.What == Doubt::Store) ||
           toleratesOne(D, Polls, Given);
  });
}

} // namespace vfriendly::tidy
