//===- Budget.cpp - Polls that a bounded spin may skip --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/Budget.h"

#include "checkers/common/Counting.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace vfriendly::tidy {

static constexpr llvm::StringLiteral Unclear =
    "the fix cannot continue its count";

namespace {

/// The test that ends the loop by its count.
struct CountTest {
  BinaryOperatorKind Kind = BO_NE;
  const Expr *Limit = nullptr; ///< Null for zero.
  QualType Compared;
  bool StepsAfter = false; ///< Tests the value before the step, as `n--`.
};

class BudgetPlanner {
public:
  BudgetPlanner(const WrittenWait &Spin, const LoopSite &Site)
      : Spin(Spin), Site(Site), Does(Spin.Does), Context(Does.Context) {}

  std::optional<Budget> plan(StringRef &Why);

private:
  StringRef findCounter();
  StringRef findTest();
  StringRef findPoll();
  bool contains(const Stmt *S, const WrittenPoll &P) const;
  StringRef computeLeft();
  std::optional<int64_t> findStart() const;
  bool isCounted(const Expr *E, bool &After);
  bool isUnchangedLocal(const VarDecl &Variable) const;

  const WrittenWait &Spin;
  const LoopSite &Site;
  const Iteration &Does;
  const ASTContext &Context;
  const VarDecl *Counter = nullptr;
  int64_t Step = 0; ///< 0 until findTest has determined it.
  std::optional<CountTest> Test;
  /// The parts of the loop's condition other than Test.
  SmallVector<const Expr *, 2> Conditions;
  Budget Found;
};

/// Returns true if the type To can represent every value of the type From.
bool preserves(QualType From, QualType To, const ASTContext &Context) {
  unsigned Width = Context.getIntWidth(From), Wider = Context.getIntWidth(To);
  if (From->isUnsignedIntegerType() == To->isUnsignedIntegerType())
    return Wider >= Width;
  return From->isUnsignedIntegerType() && Wider > Width;
}

bool BudgetPlanner::isUnchangedLocal(const VarDecl &Variable) const {
  QualType T = Variable.getType();
  return Variable.hasLocalStorage() &&
         Variable.getDeclContext() == &Site.Function && T->isIntegerType() &&
         !T->isEnumeralType() && !T.isVolatileQualified() &&
         Context.getIntWidth(T) <= 64 &&
         !Does.Escaping.of(Site.Function.getBody()).contains(&Variable);
}

StringRef BudgetPlanner::findCounter() {
  if (Does.Written.size() > 1)
    return "it changes more than one variable";
  if (!Does.Written.empty())
    Counter = Does.Written.front();
  if (!Counter || !isUnchangedLocal(*Counter) ||
      Counter->getType()->isBooleanType())
    return "its counter is no local integer that only the loop changes";
  if (Spin.Shape.Increment) {
    Step = stepOf(Spin.Shape.Increment, Counter, Context);
    if (Step != 1 && Step != -1)
      return "its counter does not change by one each iteration";
  }
  return "";
}

/// Returns true if E, an operand of the loop's condition, is the counter. In a
/// loop without an increment in its head, E must be the increment or decrement
/// of the counter, as in `n-- > 0`. Step is then set to 1 or -1, and After is
/// set to true if E has the counter's value before the step.
bool BudgetPlanner::isCounted(const Expr *E, bool &After) {
  if (Spin.Shape.Increment)
    return uncastVariable(E) == Counter;
  auto *Op = dyn_cast<UnaryOperator>(E->IgnoreParenImpCasts());
  if (!Op || !Op->isIncrementDecrementOp() ||
      uncastVariable(Op->getSubExpr()) != Counter)
    return false;
  Step = Op->isIncrementOp() ? 1 : -1;
  After = Op->isPostfix();
  return true;
}

StringRef BudgetPlanner::findTest() {
  if (!Spin.Shape.Condition)
    return Unclear;
  SmallVector<const Expr *, 4> Conjuncts = {Spin.Shape.Condition};
  while (!Conjuncts.empty()) {
    const Expr *E = Conjuncts.pop_back_val();
    const Expr *Bare = E->IgnoreParenImpCasts();
    auto *Op = dyn_cast<BinaryOperator>(Bare);
    if (Op && Op->getOpcode() == BO_LAnd) {
      Conjuncts.append({Op->getLHS(), Op->getRHS()});
      continue;
    }
    CountTest Of;
    const Expr *Counted = Bare;
    if (Op && Op->isComparisonOp()) {
      Counted = Op->getLHS();
      Of.Limit = Op->getRHS();
      Of.Kind = Op->getOpcode();
      if (!isCounted(Counted, Of.StepsAfter)) {
        std::swap(Counted, Of.Limit);
        Of.Kind = BinaryOperator::reverseComparisonOp(Of.Kind);
      }
    }
    if (!isCounted(Counted, Of.StepsAfter)) {
      Conditions.push_back(E);
      continue;
    }
    if (Test)
      return Unclear;
    Of.Compared = Of.Limit ? Counted->getType() : Counter->getType();
    Test = Of;
  }
  if (!Test || !Test->Compared->isIntegerType() ||
      !preserves(Counter->getType(), Test->Compared, Context))
    return Unclear;
  return "";
}

/// Returns true if S polls P itself or in a function that it calls.
bool BudgetPlanner::contains(const Stmt *S, const WrittenPoll &P) const {
  return anyPart(S, [&](const Stmt *Part) {
    if (P.In == Does.root())
      return Part == P.Access;
    auto *E = dyn_cast<Expr>(Part);
    const Frame *Callee = E ? Does.Calls.lookup({E, Does.root()}) : nullptr;
    for (const Frame *F = P.In; Callee && F; F = F->Caller)
      if (F == Callee)
        return true;
    return false;
  });
}

/// Finds the condition that polls. Returns the reason why iterations must not
/// be skipped, or an empty string.
StringRef BudgetPlanner::findPoll() {
  if (Spin.isPlain())
    return "it reads plain memory: make that atomic first";
  if (!Spin.WhyNotSkip.empty())
    return Spin.WhyNotSkip;
  const WrittenPoll *P = Spin.uniquePoll();
  if (!P)
    return "an iteration polls several words";
  // What an `if` does that leaves the loop, no iteration does that goes on.
  auto Counts = [&](const Stmt *S) {
    auto *If = dyn_cast<IfStmt>(S);
    return names(If ? If->getCond() : S, *Counter);
  };
  const Stmt *Body = Spin.Shape.Body.front();
  SmallVector<const Stmt *, 4> Parts(Conditions.begin(), Conditions.end());
  if (auto *Block = dyn_cast<CompoundStmt>(Body))
    Parts.append(Block->body_begin(), Block->body_end());
  else
    Parts.push_back(Body);
  if (P->Tries || P->TryLock || llvm::any_of(Parts, Counts))
    return "an iteration does more than poll one word and count";
  for (const Expr *E : Conditions)
    if (contains(E, *P))
      Found.End = {E, /*Holds=*/false};
  for (const std::optional<Exit> &Each : Does.Exits)
    if (Each && Each->Holds && contains(Each->Condition, *P))
      Found.End = *Each;
  if (!Found.End.Condition || llvm::any_of(Spin.Shape.Body, hasContinue))
    return Unclear;
  Found.IsVolatile = P->Volatile && !P->Atomic;
  return "";
}

/// Returns the counter's value before the first iteration, if it is a constant
/// that the head of a `for` loop assigns or, if the head assigns nothing, the
/// statement before the loop.
std::optional<int64_t> BudgetPlanner::findStart() const {
  const Stmt *Init = nullptr;
  if (auto *For = dyn_cast<ForStmt>(Spin.Shape.Statement))
    Init = For->getInit();
  if (auto *Block = dyn_cast_or_null<CompoundStmt>(
          Site.Parents.empty() ? nullptr : Site.Parents.back());
      Block && !Init)
    for (const Stmt *S : Block->body()) {
      if (S == Spin.Shape.Statement)
        break;
      Init = S;
    }
  std::optional<CountStart> Start = startOf(Init, Context);
  if (!Start || Start->Counter != Counter)
    return std::nullopt;
  return Start->Value;
}

/// Returns the sum of a term and a number, as text.
std::string plus(StringRef Term, int64_t Number) {
  if (Number == 0)
    return Term.str();
  return (Term + (Number > 0 ? " + " : " - ") + Twine(std::abs(Number))).str();
}

/// Computes Left, the number of further iterations for which the count test
/// holds. If the counter has the value v at the end of this iteration, it has v
/// + Step at the end of the next one, and so on.
StringRef BudgetPlanner::computeLeft() {
  std::optional<int64_t> Start = findStart(), Limit = 0;
  const VarDecl *LimitVariable = nullptr;
  if (Test->Limit) {
    Limit.reset();
    Expr::EvalResult Result;
    if (!Test->Limit->isValueDependent() &&
        Test->Limit->EvaluateAsInt(Result, Context)) {
      Limit = Result.Val.getInt().tryExtValue();
      // Gives up if the limit is so large that one of the sums below could
      // overflow.
      if (!Limit || *Limit > INT64_MAX / 4 || *Limit < INT64_MIN / 4)
        return Unclear;
    } else {
      LimitVariable = uncastVariable(Test->Limit);
      if (!LimitVariable || !isUnchangedLocal(*LimitVariable) ||
          LimitVariable == Counter ||
          !preserves(LimitVariable->getType(), Test->Compared, Context))
        return "its bound is no constant or unchanged local variable";
    }
  }

  bool IsUp = Step > 0;
  BinaryOperatorKind Kind = Test->Kind;
  if (Kind == BO_NE) {
    // The counter must reach the limit without wrapping.
    bool Reaches = Limit && Start && (IsUp ? *Start < *Limit : *Start > *Limit);
    Reaches |=
        !IsUp && Limit == 0 && Counter->getType()->isUnsignedIntegerType();
    if (!Reaches)
      return "its counter may pass the bound";
    Kind = IsUp ? BO_LT : BO_GT;
  }
  if (IsUp ? Kind != BO_LT && Kind != BO_LE : Kind != BO_GT && Kind != BO_GE)
    return Unclear;
  // Requires that the lower end of the range, the start of a counter that goes
  // up or the limit of one that goes down, is not negative. Otherwise the
  // difference of counter and limit could overflow.
  bool IsNatural = IsUp ? Counter->getType()->isUnsignedIntegerType() ||
                              (Start && *Start >= 0)
                   : LimitVariable
                       ? LimitVariable->getType()->isUnsignedIntegerType()
                       : *Limit >= 0;
  if (!IsNatural)
    return "its counter may be negative";

  // Left, the expression for the number of polls left, is Limit + Add - v for a
  // counter v that goes up, and v - (Limit + Add) for one that goes down.
  int64_t Add = (Kind == BO_LT   ? -1
                 : Kind == BO_GT ? 1
                                 : 0) +
                (Test->StepsAfter ? Step : 0);
  Found.Counter = Counter->getNameAsString();
  Found.Assignment = Found.Counter + (IsUp ? " += " : " -= ");
  std::string Text;
  if (const Expr *E = Test->Limit) {
    E = E->IgnoreImpCasts();
    bool IsName = isa<DeclRefExpr>(E) || (E->getBeginLoc().isMacroID() &&
                                          isa<IntegerLiteral, ParenExpr>(E));
    if (IsName)
      Text = textOf(E, Context);
    if (Text.empty() && LimitVariable)
      return "the loop's bound is written in a macro";
  }
  if (Text.empty() && IsUp)
    Found.Left = std::to_string(*Limit + Add) + " - " + Found.Counter;
  else if (Text.empty())
    Found.Left = plus(Found.Counter, -(*Limit + Add));
  else if (IsUp)
    Found.Left = Add > 0 ? plus(Text + " - " + Found.Counter, Add)
                         : plus(Text, Add) + " - " + Found.Counter;
  else
    Found.Left = Add > 0 ? plus(Found.Counter, -Add) + " - " + Text
                         : plus(Found.Counter + " - " + Text, -Add);
  return "";
}

std::optional<Budget> BudgetPlanner::plan(StringRef &Why) {
  const FunctionDecl &Function = Site.Function;
  if (Spin.Shape.backJump() || Spin.Shape.TestsLast)
    Why = "it is no for or while loop";
  else if (Spin.ReadsClock)
    Why = "it also reads a clock";
  else if (Function.isConstexpr() ||
           (!Context.getLangOpts().CPlusPlus && Function.isInlined() &&
            Function.isExternallyVisible()))
    Why = "its function is constexpr, or inline in C, and may have no static "
          "variable";
  else
    Why = findCounter();
  if (Why.empty())
    Why = findTest();
  if (Why.empty())
    Why = computeLeft();
  if (Why.empty())
    Why = findPoll();
  if (!Why.empty())
    return std::nullopt;
  return std::move(Found);
}

} // namespace

std::optional<Budget> planBudget(const WrittenWait &Spin, const LoopSite &Site,
                                 StringRef &Why) {
  return BudgetPlanner(Spin, Site).plan(Why);
}

} // namespace vfriendly::tidy
