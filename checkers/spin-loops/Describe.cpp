//===- Describe.cpp - Text of a report ------------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/Describe.h"

#include "checkers/spin-loops/TextualForms.h"
#include "checkers/spin-loops/WrittenWait.h"
#include "vfriendly/Catalogue.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/PrettyPrinter.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

static std::string nameOf(const Expr *LValue, const ASTContext &Context) {
  if (!LValue)
    return "memory";
  const Expr *E = LValue->IgnoreParenImpCasts();
  PrintingPolicy Policy(Context.getLangOpts());
  Policy.SuppressImplicitBase = true;
  std::string Name;
  llvm::raw_string_ostream OS(Name);
  if (!LValue->isGLValue() && !LValue->isTypeDependent()) {
    auto *Address = dyn_cast<UnaryOperator>(E);
    if (Address && Address->getOpcode() == UO_AddrOf)
      E = Address->getSubExpr();
    else
      OS << '*';
  }
  if (auto *Member = dyn_cast<MemberExpr>(E); Member && Member->isArrow()) {
    auto *Base = dyn_cast<UnaryOperator>(Member->getBase()->IgnoreParens());
    if (Base && Base->getOpcode() == UO_AddrOf) {
      // Prints `flag` for (&flag)->_Value, the expansion of an atomic_flag
      // operation of <stdatomic.h>.
      Base->getSubExpr()->printPretty(OS, nullptr, Policy);
      StringRef Field = Member->getMemberDecl()->getName();
      return Field == "_Value" ? Name : Name + "." + Field.str();
    }
  }
  E->printPretty(OS, nullptr, Policy);
  return Name.size() > 60 ? "memory" : Name;
}

static StringRef howTried(const WrittenPoll &P) {
  if (!isa<Expr>(P.Tries->Site))
    return "inline assembly";
  switch (P.Tries->Op.Kind) {
  case AtomicKind::CompareExchange:
    return "compare-and-swap";
  case AtomicKind::Exchange:
    return P.Tries->Op.Value ? "exchange" : "test-and-set";
  case AtomicKind::SetBits:
    return "test-and-set";
  default:
    return "update";
  }
}

static StringRef memoryOf(const WrittenPoll &P) {
  if (P.Atomic)
    return "atomic ";
  return P.Volatile ? "volatile " : "plain ";
}

/// Returns the expression that names what P polls in the program's own code:
/// for a read in a member function of the standard library, the object for
/// which the program calls it, `items` in `items.empty()`.
static const Expr *nameInProgram(const WrittenPoll &P,
                                 const ASTContext &Context) {
  const SourceManager &SM = Context.getSourceManager();
  auto IsOfLibrary = [&](const Frame *F) {
    return SM.isInSystemHeader(F->Function->getLocation());
  };
  if (P.At.LValue && SM.isInSystemHeader(P.At.LValue->getExprLoc()))
    for (const Frame *In = P.In; In && In->Caller; In = In->Caller)
      if (In->Object && IsOfLibrary(In) && !IsOfLibrary(In->Caller))
        return In->Object;
  return P.At.LValue;
}

/// Returns the value that E assigns to a local variable, to Variable if it is
/// not null; null if E is no such assignment.
static const Expr *assignedBy(const Stmt *E, const VarDecl *Variable) {
  const Expr *To = nullptr, *Value = nullptr;
  if (auto *Op = dyn_cast<BinaryOperator>(E);
      Op && Op->getOpcode() == BO_Assign) {
    To = Op->getLHS();
    Value = Op->getRHS();
  } else if (auto *Op = dyn_cast<CXXOperatorCallExpr>(E);
             Op && Op->getOperator() == OO_Equal && Op->getNumArgs() == 2) {
    To = Op->getArg(0);
    Value = Op->getArg(1);
  }
  auto *Ref = To ? dyn_cast<DeclRefExpr>(To->IgnoreParenImpCasts()) : nullptr;
  auto *Local = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  if (!Local || !Local->hasLocalStorage() ||
      Local->getType()->isReferenceType())
    return nullptr;
  return !Variable || Local == Variable ? Value : nullptr;
}

/// Returns the value that S, or a part of it, assigns to Variable. Does not
/// look into lambdas, which other threads may run.
static const Expr *assignedIn(const Stmt *S, const VarDecl &Variable) {
  if (!S || isa<LambdaExpr>(S))
    return nullptr;
  if (const Expr *Value = assignedBy(S, &Variable))
    return Value;
  for (const Stmt *Child : S->children())
    if (const Expr *Value = assignedIn(Child, Variable))
      return Value;
  return nullptr;
}

/// Returns the call in S, or in a part of it, that gets the address of
/// Variable. Does not look into lambdas.
static const Expr *filledIn(const Stmt *S, const VarDecl &Variable) {
  if (!S || isa<LambdaExpr>(S))
    return nullptr;
  if (auto *Call = dyn_cast<CallExpr>(S))
    for (const Expr *Arg : Call->arguments()) {
      auto *Address = dyn_cast<UnaryOperator>(Arg->IgnoreParenCasts());
      auto *Ref = Address && Address->getOpcode() == UO_AddrOf
                      ? dyn_cast<DeclRefExpr>(
                            Address->getSubExpr()->IgnoreParenImpCasts())
                      : nullptr;
      if (Ref && Ref->getDecl() == &Variable)
        return Call;
    }
  for (const Stmt *Child : S->children())
    if (const Expr *Call = filledIn(Child, Variable))
      return Call;
  return nullptr;
}

/// Returns the function whose result the loop assigns to the local variable
/// that P reads, or that gets its address: `take` for `while (!v) v =
/// queue.take();`. The wait polls by that call; no other thread writes the
/// variable. Returns null if there is no such call.
static const NamedDecl *calledForLocal(const WrittenWait &Spin,
                                       const WrittenPoll &P) {
  if (!P.isPlain() || !P.At.LValue)
    return nullptr;
  const Expr *Value = assignedBy(
      nameInProgram(P, Spin.Does.Context)->IgnoreParenImpCasts(), nullptr);
  if (!Value && P.At.Where == Place::Local && P.At.Variable)
    Spin.Shape.forEachPart([&](const Stmt *S) {
      if (!Value)
        Value = assignedIn(S, *P.At.Variable);
      if (!Value)
        Value = filledIn(S, *P.At.Variable);
    });
  auto *Call = dyn_cast_or_null<CallExpr>(
      Value ? Value->IgnoreUnlessSpelledInSource() : nullptr);
  auto *Callee =
      Call ? dyn_cast_or_null<NamedDecl>(Call->getCalleeDecl()) : nullptr;
  return Callee && Callee->getDeclName() ? Callee : nullptr;
}

/// Returns the first part of the report: the kind of wait and what it polls.
static std::string seen(const WrittenWait &Spin) {
  const ASTContext &Context = Spin.Does.Context;
  const WrittenPoll *P = &Spin.Polls.front();
  for (const WrittenPoll &Other : Spin.Polls)
    if (Other.Tries || Other.TryLock || Other.Unseen)
      P = &Other; // An attempt describes the wait better than a read.
  if (P->TryLock)
    return "loop retries '" + P->TryLock->getNameAsString() + "'";
  if (P->Unseen) {
    auto *D = dyn_cast_or_null<NamedDecl>(P->Unseen->getCalleeDecl());
    return D ? "loop polls by calling '" + D->getNameAsString() + "'"
             : "loop polls by a call";
  }
  if (const NamedDecl *Called = calledForLocal(Spin, *P))
    return "loop polls by calling '" + Called->getNameAsString() + "'";
  std::string What =
      (memoryOf(*P) + "'" + nameOf(nameInProgram(*P, Context), Context) + "'")
          .str();
  StringRef Phrase = phraseOf(Spin.Kind);
  if (Phrase.empty())
    return "loop spins on " + What;
  if (P->Tries)
    What = (howTried(*P) + " of " + What).str();
  return ("loop spins " + Phrase + What).str();
}

/// Returns "up to 1,000,000 times" if the bound is known, else "a bounded
/// number of times".
static std::string howOften(const WrittenWait &Spin) {
  if (Spin.IsSplit)
    return "many times before it does more";
  if (!Spin.MaxIterations)
    return "a bounded number of times";
  std::string Digits = std::to_string(Spin.MaxIterations);
  for (size_t At = Digits.size(); At > 3;)
    Digits.insert(At -= 3, ",");
  return "up to " + Digits + (Spin.MaxIterations == 1 ? " time" : " times");
}

/// What waiting in this way costs, and the remedy.
struct Wording {
  llvm::StringLiteral Cost, Remedy;
};
static constexpr Wording
    Sleeping = {"each wake-up costs exits even without a change", "block"},
    Yielding = {"yielding keeps the vCPU busy", "spin then block"},
    Spinning = {"the vCPU is wasted while the other thread is descheduled",
                "spin then block"},
    Bounded = {"the vCPU is wasted meanwhile", "spin briefly, then block"};

static std::string withPage(const std::string &Text) {
  return Text + " (" + SpinLoops.Guideline + ")";
}

static const Wording &wordingFor(bool Sleeps, bool Yields) {
  return Sleeps ? Sleeping : Yields ? Yielding : Spinning;
}

static StringRef hintBetween(bool Sleeps, bool Yields) {
  return Sleeps ? " and sleeps between polls"
                : (Yields ? " and yields between polls" : "");
}

std::string describe(const WrittenWait &Spin, const ValueDecl *Notified) {
  const bool IsBounded =
      (Spin.Counts || (Spin.IsSplit && Spin.ReadsClock)) && !Spin.Sleeps;
  const Wording &Words =
      IsBounded ? Bounded : wordingFor(Spin.Sleeps, Spin.Yields);
  std::string Text =
      seen(Spin) + (IsBounded ? ", " + howOften(Spin)
                              : hintBetween(Spin.Sleeps, Spin.Yields).str());
  // A report has one reason: a data race is worse than the cost, and a doubt
  // tells what to look at first.
  const bool HoldsResult = llvm::any_of(Spin.Polls, [&](const WrittenPoll &P) {
    return calledForLocal(Spin, P);
  });
  if (Spin.isPlain() && !Spin.Locks && !HoldsResult)
    Text += ": a data race";
  else if (Spin.Doubt.empty())
    Text += (": " + Words.Cost).str();
  if (IsBounded && Notified)
    Text += "; block on '" + Notified->getNameAsString() +
            "' sooner, which is notified";
  else
    Text += ("; " + Words.Remedy).str();
  if (!Spin.Doubt.empty())
    Text += "; " + Spin.Doubt;
  return withPage(Text);
}

std::string describe(const TextualWait &Wait, const ASTContext &Context) {
  std::string Text = "loop spins on ";
  if (Wait.Tries)
    Text += phraseOf(SpinKind::TryLock).drop_front(StringRef("on ").size());
  Text += (Wait.Atomic ? "atomic '" : "volatile '") +
          nameOf(Wait.Polled, Context) + "'";
  const Wording &Words = wordingFor(Wait.Sleeps, Wait.Yields);
  Text += (hintBetween(Wait.Sleeps, Wait.Yields) + ": " + Words.Cost + "; " +
           Words.Remedy)
              .str();
  return withPage(Text);
}

} // namespace vfriendly::tidy
