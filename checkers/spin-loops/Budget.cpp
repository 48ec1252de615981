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
#include "passes/analysis/common/SmallBound.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

using namespace clang;

namespace vfriendly::tidy {

static constexpr llvm::StringLiteral
    DoesMore = "an iteration does more than poll one word and count",
    ReadsMore = "an iteration also reads other memory",
    Unclear = "the fix cannot continue its count";

namespace {

/// Proves that an iteration only polls and counts, by visiting its statements
/// in the loop's function and its callees. Expressions of kinds that are not
/// listed here end the proof.
class IterationReader {
public:
  IterationReader(const Iteration &Does, const VarDecl &Counter)
      : Does(Does), Counter(Counter) {}

  bool read(const Stmt *S, const Frame *In);

  unsigned SharedReads = 0;
  bool IsVolatile = false;
  StringRef Why = DoesMore;

private:
  bool readChildren(const Stmt *S, const Frame *In) {
    return llvm::all_of(S->children(),
                        [&](const Stmt *Child) { return read(Child, In); });
  }
  bool readMemory(const Expr *LValue, const Frame *In);
  bool readCall(const CallExpr &Call, const Frame *In);
  bool readInCallee(const Stmt *S, const Frame *In);
  bool isHint(const Stmt *S, const Frame *In) const;
  /// Returns true if only the code of In's function can change Variable.
  bool isPrivate(const VarDecl &Variable, const Frame *In) const {
    return Variable.hasLocalStorage() &&
           Variable.getDeclContext() == In->Function &&
           !Variable.getType()->isReferenceType() &&
           !Does.Escaping.of(In->Function->getBody()).contains(&Variable);
  }
  bool fail(StringRef Reason) {
    Why = Reason;
    return false;
  }

  const Iteration &Does;
  const VarDecl &Counter;
};

bool IterationReader::isHint(const Stmt *S, const Frame *In) const {
  auto *E = dyn_cast<Expr>(S);
  const Stmt *Bare = E ? E->IgnoreParenCasts() : S;
  return llvm::any_of(Does.Hints, [&](const Hint &H) {
    auto *Site = dyn_cast<Expr>(H.Site);
    return H.In == In && H.Effect != CallEffect::Sleep &&
           Bare == (Site ? Site->IgnoreParenCasts() : H.Site);
  });
}

/// Visits a read of the object that LValue names; returns false if the read
/// disproves that an iteration only polls and counts.
bool IterationReader::readMemory(const Expr *LValue, const Frame *In) {
  QualType T = LValue->getType();
  if (isAtomicType(T) || T.isVolatileQualified()) {
    ++SharedReads;
    IsVolatile |= !isAtomicType(T);
    return read(LValue, In);
  }
  // Rejects reads of plain memory: another thread may write the memory between
  // two polls, so that a skipped iteration could have read another value.
  const VarDecl *Variable = uncastVariable(LValue);
  return Variable && isPrivate(*Variable, In) ? read(LValue, In)
                                              : fail(ReadsMore);
}

bool IterationReader::readCall(const CallExpr &Call, const Frame *In) {
  if (const Frame *Callee = Does.Calls.lookup({&Call, In})) {
    for (const Expr *Argument : Call.arguments())
      if (!read(Argument, In))
        return false;
    auto *Member = dyn_cast<CXXMemberCallExpr>(&Call);
    return (!Member || read(Member->getImplicitObjectArgument(), In)) &&
           readInCallee(Callee->Function->getBody(), Callee);
  }
  const FunctionDecl *Callee = Call.getDirectCallee();
  bool IsExpect =
      Callee && Callee->getBuiltinID() == Builtin::BI__builtin_expect;
  return (IsExpect || isHint(&Call, In)) &&
         llvm::all_of(Call.arguments(),
                      [&](const Expr *Argument) { return read(Argument, In); });
}

/// Returns true if S, a statement of a called function, only polls and writes
/// local variables of that function. These variables begin anew with each call,
/// so no value is carried into the next iteration.
bool IterationReader::readInCallee(const Stmt *S, const Frame *In) {
  if (!S)
    return true;
  if (auto *Decls = dyn_cast<DeclStmt>(S))
    return llvm::all_of(Decls->decls(), [&](const Decl *D) {
      auto *Variable = dyn_cast<VarDecl>(D);
      return Variable && Variable->hasLocalStorage() &&
             Variable->getType()->isScalarType() &&
             (!Variable->getInit() || read(Variable->getInit(), In));
    });
  if (auto *Assign = dyn_cast<BinaryOperator>(S);
      Assign && Assign->getOpcode() == BO_Assign) {
    const VarDecl *To = uncastVariable(Assign->getLHS());
    return To && isPrivate(*To, In) && !To->getType().isVolatileQualified() &&
           !isAtomicType(To->getType()) && read(Assign->getRHS(), In);
  }
  // Follows the body of `do { } while (0)`, which macros use: it runs once.
  if (auto *Do = dyn_cast<DoStmt>(S)) {
    bool Again = true;
    return !Do->getCond()->isValueDependent() &&
           Do->getCond()->EvaluateAsBooleanCondition(Again, Does.Context) &&
           !Again && readInCallee(Do->getBody(), In);
  }
  if (isa<CompoundStmt, ReturnStmt>(S) ||
      (isa<IfStmt>(S) && !cast<IfStmt>(S)->getConditionVariable()))
    return llvm::all_of(S->children(), [&](const Stmt *Child) {
      return readInCallee(Child, In);
    });
  return read(S, In);
}

bool IterationReader::read(const Stmt *S, const Frame *In) {
  if (isa<NullStmt, IntegerLiteral, CharacterLiteral, CXXBoolLiteralExpr,
          CXXNullPtrLiteralExpr, CXXThisExpr>(S))
    return true;
  // Visits the body of a called function if it is visible, even if the
  // function's name suggests a spin hint: the body may do more.
  if (!isa<Expr>(S))
    return isHint(S, In);
  if (auto *Size = dyn_cast<UnaryExprOrTypeTraitExpr>(S))
    return !Size->getTypeOfArgument()->isVariablyModifiedType();
  if (auto *Ref = dyn_cast<DeclRefExpr>(S))
    return Ref->getDecl() != &Counter;
  auto *E = cast<Expr>(S);
  if (std::optional<AtomicOp> Op = matchAtomicOp(E)) {
    if (Op->Kind != AtomicKind::Load || Op->Result)
      return false;
    ++SharedReads;
    return read(Op->Object, In);
  }
  if (auto *Call = dyn_cast<CallExpr>(E))
    return readCall(*Call, In);
  if (auto *Cast = dyn_cast<CastExpr>(E))
    return Cast->getCastKind() == CK_LValueToRValue
               ? readMemory(Cast->getSubExpr(), In)
               : read(Cast->getSubExpr(), In);
  if (auto *Op = dyn_cast<UnaryOperator>(E))
    return !Op->isIncrementDecrementOp() && readChildren(S, In);
  if (auto *Op = dyn_cast<BinaryOperator>(E))
    return !Op->isAssignmentOp() && readChildren(S, In);
  return isa<ParenExpr, ConstantExpr, MemberExpr, ArraySubscriptExpr,
             ConditionalOperator, ExprWithCleanups>(E) &&
         readChildren(S, In);
}

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
  StringRef readIteration();
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

/// Returns true if S is, or ends with, a `break` or `return` that is always
/// reached.
bool leaves(const Stmt *S) {
  if (isa<BreakStmt, ReturnStmt>(S))
    return true;
  auto *Block = dyn_cast<CompoundStmt>(S);
  return Block && !Block->body_empty() && leaves(Block->body_back()) &&
         llvm::all_of(llvm::drop_end(Block->body()), [](const Stmt *Before) {
           auto *E = dyn_cast<Expr>(Before);
           return E && !isa<StmtExpr>(E->IgnoreParenCasts());
         });
}

StringRef BudgetPlanner::readIteration() {
  if (Spin.isPlain())
    return "it reads plain memory: make that atomic first";
  IterationReader Reader(Does, *Counter);
  auto ReadCondition = [&](const Expr *E, bool LeavesIf) {
    unsigned Before = Reader.SharedReads;
    bool Ok = Reader.read(E, Does.root());
    if (Reader.SharedReads != Before)
      Found.End = {E, LeavesIf};
    return Ok;
  };
  for (const Expr *E : Conditions)
    if (!ReadCondition(E, /*LeavesIf=*/false))
      return Reader.Why;
  const Stmt *Body = Spin.Shape.Body.front();
  SmallVector<const Stmt *, 4> Statements = {Body};
  if (auto *Block = dyn_cast<CompoundStmt>(Body))
    Statements.assign(Block->body_begin(), Block->body_end());
  for (const Stmt *S : Statements) {
    auto *If = dyn_cast<IfStmt>(S);
    if (!If) {
      if (!Reader.read(S, Does.root()))
        return Reader.Why;
      continue;
    }
    if (If->getElse() || If->getInit() || If->getConditionVariable() ||
        !leaves(If->getThen()))
      return DoesMore;
    if (!ReadCondition(If->getCond(), /*LeavesIf=*/true))
      return Reader.Why;
  }
  if (Reader.SharedReads != 1)
    return "an iteration polls several words";
  Found.IsVolatile = Reader.IsVolatile;
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
  if (Limit && Start) {
    uint64_t Polls = IsUp ? *Limit - *Start : *Start - *Limit;
    if (Polls <= (Spin.Pauses || Spin.Yields ? SmallSlowBound : SmallBound))
      return "its bound is reached in less time than a context switch takes";
  }

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
    Why = readIteration();
  if (Why.empty())
    Why = computeLeft();
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
