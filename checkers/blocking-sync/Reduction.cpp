//===- Reduction.cpp - Updates that a reduction can replace ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Reduction.h"

#include "checkers/common/SourceText.h"
#include "checkers/common/SyncModel.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/FoldingSet.h"

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
  if (!Call || Call->getNumArgs() != 2 ||
      !(isSame(Call->getArg(0), Target, Context) ||
        isSame(Call->getArg(1), Target, Context)))
    return "";
  StringRef Name = identifierOf(Call->getDirectCallee());
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

const DeclRefExpr *smallArrayOf(const Expr *Target, const ASTContext &Context) {
  // 64 lines of a cache. Each thread has such an array on its stack.
  constexpr int64_t MaxBytes = 4096;
  const Expr *E = Target->IgnoreParenImpCasts();
  if (!isa<ArraySubscriptExpr>(E))
    return nullptr;
  while (auto *Element = dyn_cast<ArraySubscriptExpr>(E)) {
    E = Element->getBase()->IgnoreParenImpCasts();
    if (!E->getType()->isConstantArrayType())
      return nullptr;
  }
  auto *Ref = dyn_cast<DeclRefExpr>(E);
  return Ref && isa<VarDecl>(Ref->getDecl()) &&
                 Context.getTypeSizeInChars(Ref->getType()).getQuantity() <=
                     MaxBytes
             ? Ref
             : nullptr;
}

} // namespace vfriendly::tidy
