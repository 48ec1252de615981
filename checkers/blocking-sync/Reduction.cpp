//===- Reduction.cpp - Updates that a reduction can replace ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Reduction.h"

#include "checkers/common/SyncModel.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/FoldingSet.h"
#include "llvm/ADT/MapVector.h"

using namespace clang;

namespace vfriendly::tidy {

static bool isSame(const Expr *A, const Expr *B, const ASTContext &Context) {
  llvm::FoldingSetNodeID IdA, IdB;
  A->IgnoreParenImpCasts()->Profile(IdA, Context, /*Canonical=*/true);
  B->IgnoreParenImpCasts()->Profile(IdB, Context, /*Canonical=*/true);
  return IdA == IdB;
}

/// Returns OpenMP's operator for a binary operator; empty if there is none.
static StringRef operatorOf(BinaryOperatorKind Kind) {
  switch (Kind) {
  case BO_Add:
  case BO_AddAssign:
  case BO_Sub:
  case BO_SubAssign:
    return "+";
  case BO_Mul:
  case BO_MulAssign:
    return "*";
  case BO_And:
  case BO_AndAssign:
    return "&";
  case BO_Or:
  case BO_OrAssign:
    return "|";
  case BO_Xor:
  case BO_XorAssign:
    return "^";
  case BO_LAnd:
    return "&&";
  case BO_LOr:
    return "||";
  default:
    return "";
  }
}

/// The operator of `Greater > Less ? Greater : Less` and its like: Then is
/// chosen if Compare holds.
static StringRef extreme(const Expr *Condition, const Expr *Then,
                         const Expr *Else, const ASTContext &Context) {
  auto *Compare = dyn_cast<BinaryOperator>(Condition->IgnoreParenImpCasts());
  if (!Compare || !Compare->isRelationalOp())
    return "";
  bool IsGreater =
      Compare->getOpcode() == BO_GT || Compare->getOpcode() == BO_GE;
  if (isSame(Compare->getLHS(), Then, Context) &&
      isSame(Compare->getRHS(), Else, Context))
    return IsGreater ? "max" : "min";
  if (isSame(Compare->getLHS(), Else, Context) &&
      isSame(Compare->getRHS(), Then, Context))
    return IsGreater ? "min" : "max";
  return "";
}

/// Returns the operator and sets Value to the other operand if E combines
/// Target with a value.
static StringRef combines(const Expr *E, const Expr *Target,
                          const ASTContext &Context) {
  E = E->IgnoreParenImpCasts();
  if (auto *Clean = dyn_cast<ExprWithCleanups>(E))
    E = Clean->getSubExpr()->IgnoreParenImpCasts();
  if (auto *Binary = dyn_cast<BinaryOperator>(E)) {
    bool IsLeft = isSame(Binary->getLHS(), Target, Context);
    bool IsRight = Binary->getOpcode() != BO_Sub &&
                   isSame(Binary->getRHS(), Target, Context);
    // In `s + x + y` the sum of s and x is the left operand.
    if (!IsLeft && !IsRight && Binary->isAdditiveOp() &&
        combines(Binary->getLHS(), Target, Context) == "+")
      IsLeft = true;
    return IsLeft || IsRight ? operatorOf(Binary->getOpcode()) : "";
  }
  if (auto *Choice = dyn_cast<ConditionalOperator>(E))
    return isSame(Choice->getTrueExpr(), Target, Context) ||
                   isSame(Choice->getFalseExpr(), Target, Context)
               ? extreme(Choice->getCond(), Choice->getTrueExpr(),
                         Choice->getFalseExpr(), Context)
               : "";
  auto *Call = dyn_cast<CallExpr>(E);
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  if (!Callee || !Callee->getIdentifier() || Call->getNumArgs() != 2 ||
      !(isSame(Call->getArg(0), Target, Context) ||
        isSame(Call->getArg(1), Target, Context)))
    return "";
  StringRef Name = Callee->getName();
  if (llvm::is_contained({"max", "fmax", "fmaxf", "fmaxl"}, Name))
    return "max";
  return llvm::is_contained({"min", "fmin", "fminf", "fminl"}, Name) ? "min"
                                                                     : "";
}

/// Returns the reduction of S, whose text names Target Uses times; nothing if
/// the value that S combines with Target depends on Target as well.
static std::optional<Reduction> made(const Stmt *S, const Expr *Target,
                                     StringRef Operator, unsigned Uses) {
  const ValueDecl *Object = objectOf(Target);
  unsigned Named = 0;
  forEachStmt(S, [&](const Stmt *Part, ArrayRef<const Stmt *>) {
    auto *Ref = dyn_cast<DeclRefExpr>(Part);
    auto *Member = dyn_cast<MemberExpr>(Part);
    Named += (Ref && Ref->getDecl() == Object) ||
             (Member && Member->getMemberDecl() == Object);
  });
  if (Operator.empty() || !Object || Named != Uses)
    return std::nullopt;
  return Reduction{Target->IgnoreParenImpCasts(), Operator};
}

std::optional<Reduction> reductionOf(const Stmt *S, const ASTContext &Context) {
  if (auto *Block = dyn_cast<CompoundStmt>(S))
    return Block->size() == 1 ? reductionOf(Block->body_front(), Context)
                              : std::nullopt;
  if (auto *If = dyn_cast<IfStmt>(S)) {
    const Stmt *Then = If->getThen();
    if (auto *Block = dyn_cast<CompoundStmt>(Then); Block && Block->size() == 1)
      Then = Block->body_front();
    auto *Sets = dyn_cast<BinaryOperator>(Then);
    if (If->getElse() || !Sets || Sets->getOpcode() != BO_Assign)
      return std::nullopt;
    return made(S, Sets->getLHS(),
                extreme(If->getCond(), Sets->getRHS(), Sets->getLHS(), Context),
                2);
  }
  auto *E = dyn_cast<Expr>(S);
  if (!E)
    return std::nullopt;
  E = E->IgnoreParenImpCasts();
  if (auto *Clean = dyn_cast<ExprWithCleanups>(E))
    E = Clean->getSubExpr()->IgnoreParenImpCasts();
  if (auto *Unary = dyn_cast<UnaryOperator>(E);
      Unary && Unary->isIncrementDecrementOp())
    return made(S, Unary->getSubExpr(), "+", 1);
  auto *Binary = dyn_cast<BinaryOperator>(E);
  if (!Binary || !Binary->isAssignmentOp())
    return std::nullopt;
  if (Binary->isCompoundAssignmentOp())
    return made(S, Binary->getLHS(), operatorOf(Binary->getOpcode()), 1);
  const Expr *Value = Binary->getRHS()->IgnoreParenImpCasts();
  return made(S, Binary->getLHS(), combines(Value, Binary->getLHS(), Context),
              isa<ConditionalOperator>(Value) ? 3 : 2);
}

SmallVector<const Stmt *, 4> guardedBy(const OMPExecutableDirective &Guard) {
  SmallVector<const Stmt *, 4> Found;
  const Stmt *Body = Guard.hasAssociatedStmt() ? Guard.getRawStmt() : nullptr;
  if (auto *Block = dyn_cast_or_null<CompoundStmt>(Body))
    Found.append(Block->body_begin(), Block->body_end());
  else if (Body)
    Found.push_back(Body);
  return Found;
}

namespace {

/// Returns the reductions that the statements of Guard are; empty if one of
/// them is something else.
SmallVector<Reduction, 2> reductionsIn(const OMPExecutableDirective &Guard,
                                       const ASTContext &Context) {
  SmallVector<Reduction, 2> Found;
  for (const Stmt *S : guardedBy(Guard)) {
    auto One = reductionOf(S, Context);
    if (!One)
      return {};
    Found.push_back(*One);
  }
  return Found;
}

const VarDecl *variableOf(const Reduction &R) {
  auto *Ref = dyn_cast<DeclRefExpr>(R.Target);
  return Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
}

/// Returns true if nothing but the assignment or read itself sees the variable
/// that a reference with these Parents names.
bool isPlainUse(ArrayRef<const Stmt *> Parents) {
  const Stmt *Parent = Parents.empty() ? nullptr : Parents.back();
  if (auto *Cast = dyn_cast_or_null<ImplicitCastExpr>(Parent))
    return Cast->getCastKind() == CK_LValueToRValue;
  if (auto *Unary = dyn_cast_or_null<UnaryOperator>(Parent))
    return Unary->isIncrementDecrementOp();
  auto *Binary = dyn_cast_or_null<BinaryOperator>(Parent);
  return Binary && Binary->isAssignmentOp();
}

/// The text of a directive, which ends at the end of a line.
class Pragma {
public:
  Pragma(const OMPExecutableDirective &Directive, const ASTContext &Context)
      : SM(Context.getSourceManager()), Begin(Directive.getBeginLoc()) {
    if (Begin.isMacroID())
      return;
    auto [File, Offset] = SM.getDecomposedLoc(Begin);
    StringRef Text = SM.getBufferData(File);
    size_t First = Text.rfind('\n', Offset);
    First = First == StringRef::npos ? 0 : First + 1;
    size_t Last = Offset;
    do
      Last = Text.find('\n', Last + 1);
    while (Last != StringRef::npos && Text[Last - 1] == '\\');
    if (Last == StringRef::npos)
      return;
    StringRef Line = Text.slice(First, Last);
    // A comment may follow, and the pragma may be a macro's.
    if (!Line.ltrim().starts_with("#") || Line.contains("//") ||
        Line.contains("/*"))
      return;
    SourceLocation File0 = SM.getLocForStartOfFile(File);
    // With the line break before it: clang-tidy cleans up after a removal up to
    // the end of a line, and would take a space of the next one's indentation.
    Start = File0.getLocWithOffset(First ? First - 1 : 0);
    End = File0.getLocWithOffset(First + Line.rtrim().size());
    Next = File0.getLocWithOffset(Last);
  }
  bool isPlain() const { return Next.isValid(); }
  FixItHint removal() const {
    return FixItHint::CreateRemoval(CharSourceRange::getCharRange(Start, Next));
  }
  FixItHint clause(const Twine &Text) const {
    return FixItHint::CreateInsertion(End, Text.str());
  }

private:
  const SourceManager &SM;
  SourceLocation Begin, Start, End, Next;
};

/// Returns the clause `shared(Variable)` of Directive if it names no other
/// variable.
const OMPSharedClause *sharedAlone(const OMPExecutableDirective &Directive,
                                   const VarDecl &Variable) {
  for (const auto *Clause : Directive.getClausesOfKind<OMPSharedClause>())
    if (Clause->varlist_size() == 1 &&
        objectOf(*Clause->varlist_begin()) == &Variable)
      return Clause;
  return nullptr;
}

/// Returns the reason why a clause cannot reduce Variable; empty if it can.
StringRef obstacle(const VarDecl &Variable, StringRef Operator,
                   const ParallelUpdate &Site,
                   ArrayRef<const OMPExecutableDirective *> Removed,
                   const ASTContext &Context) {
  QualType T = Variable.getType();
  if (!Variable.hasLocalStorage())
    return "other functions can reach the result";
  if (!T->isArithmeticType() || T.isVolatileQualified() ||
      T->isAnyComplexType() || T->isBooleanType())
    return "the result is not a number";
  SmallVector<const OMPClause *, 8> Clauses(Site.Loop->clauses());
  llvm::append_range(Clauses, Site.Region->clauses());
  for (const OMPClause *Clause : Clauses) {
    // The fix replaces the clause of the loop. What a loop reduces has to be
    // shared in the region around it.
    if (isa<OMPSharedClause>(Clause) &&
        (Clause == sharedAlone(*Site.Loop, Variable) ||
         !llvm::is_contained(Site.Loop->clauses(), Clause)))
      continue;
    for (const Stmt *Item : Clause->children()) {
      bool Names = false;
      forEachStmt(Item, [&](const Stmt *S, ArrayRef<const Stmt *>) {
        auto *Ref = dyn_cast<DeclRefExpr>(S);
        Names |= Ref && Ref->getDecl() == &Variable;
      });
      if (Names)
        return "a clause of the loop names the result";
    }
  }
  StringRef Reason;
  forEachStmtAndLambda(
      Site.Function->getBody(),
      [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
        auto *Ref = dyn_cast<DeclRefExpr>(S);
        if (auto *Lambda = dyn_cast<LambdaExpr>(S))
          for (const LambdaCapture &Capture : Lambda->captures())
            if (Capture.capturesVariable() &&
                Capture.getCapturedVar() == &Variable)
              Reason = "a lambda captures the result";
        if (!Ref || Ref->getDecl() != &Variable)
          return;
        if (!llvm::is_contained(Parents, Site.Loop)) {
          if (llvm::is_contained(Parents, Site.Region))
            Reason = "the region uses the result outside of the loop";
          else if (!isPlainUse(Parents))
            Reason = "something may hold the address of the result";
          return;
        }
        // Within the loop, only an update with the same operator may use it.
        auto InUpdate = [&](const Stmt *P) {
          auto Found = reductionOf(P, Context);
          return Found && Found->Operator == Operator &&
                 variableOf(*Found) == &Variable;
        };
        auto IsRemoved = [&](const Stmt *P) {
          return llvm::is_contained(Removed, P);
        };
        if (!llvm::any_of(Parents, InUpdate) ||
            !llvm::any_of(Parents, IsRemoved))
          Reason = "the loop uses the result in another way";
      });
  return Reason;
}

} // namespace

ReductionFix reductionFix(const ParallelUpdate &Site,
                          const ASTContext &Context) {
  ReductionFix Fix;
  Fix.Removed.push_back(Site.Update);
  if (!Site.Region) {
    Fix.Reason = "the team of threads is not visible here";
    return Fix;
  }
  // All guards of the same results, and of the results that these update.
  llvm::SmallMapVector<const VarDecl *, StringRef, 2> Results;
  bool IsComplete = false;
  while (!IsComplete && Fix.Reason.empty()) {
    for (const OMPExecutableDirective *Guard : Fix.Removed)
      for (const Reduction &R : reductionsIn(*Guard, Context)) {
        const VarDecl *Variable = variableOf(R);
        if (!Variable)
          Fix.Reason = "the result is no variable of its own";
        else if (Results.try_emplace(Variable, R.Operator).first->second !=
                 R.Operator)
          Fix.Reason = "the loop combines the result in different ways";
      }
    IsComplete = true;
    forEachStmtAndLambda(
        Site.Loop->getRawStmt(), [&](const Stmt *S, ArrayRef<const Stmt *>) {
          if (!isa<OMPCriticalDirective, OMPAtomicDirective>(S) ||
              llvm::is_contained(Fix.Removed, S))
            return;
          auto *Guard = cast<OMPExecutableDirective>(S);
          auto Updates = reductionsIn(*Guard, Context);
          if (llvm::any_of(Updates, [&](const Reduction &R) {
                return Results.count(variableOf(R));
              })) {
            Fix.Removed.push_back(Guard);
            IsComplete = false;
          }
        });
  }
  std::string Clauses;
  for (auto &[Variable, Operator] : Results) {
    if (Fix.Reason.empty())
      Fix.Reason = obstacle(*Variable, Operator, Site, Fix.Removed, Context);
    std::string Clause =
        ("reduction(" + Operator + ": " + Variable->getName() + ")").str();
    if (const OMPSharedClause *Shared = sharedAlone(*Site.Loop, *Variable))
      Fix.Hints.push_back(FixItHint::CreateReplacement(
          SourceRange(Shared->getBeginLoc(), Shared->getEndLoc()), Clause));
    else
      Clauses += " " + Clause;
  }
  Pragma Loop(*Site.Loop, Context);
  bool ArePlain = Loop.isPlain();
  if (!Clauses.empty() && ArePlain)
    Fix.Hints.push_back(Loop.clause(Clauses));
  for (const OMPExecutableDirective *Guard : Fix.Removed) {
    Pragma Update(*Guard, Context);
    ArePlain &= Update.isPlain();
    if (ArePlain)
      Fix.Hints.push_back(Update.removal());
  }
  if (!ArePlain && Fix.Reason.empty())
    Fix.Reason = "the directives are no lines of their own";
  if (!Fix.Reason.empty())
    Fix.Hints.clear();
  return Fix;
}

} // namespace vfriendly::tidy
