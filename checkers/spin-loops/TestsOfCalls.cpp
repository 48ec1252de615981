//===- TestsOfCalls.cpp - Tests of errno and of trylock -------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/TestsOfCalls.h"

#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Expr.h"

#include <cerrno>

using namespace clang;

namespace vfriendly::tidy {

/// `Tested OPCODE Number`; a condition without a comparison is `!= 0`.
struct Test {
  const Expr *Tested;
  BinaryOperatorKind Opcode = BO_NE;
  int64_t Number = 0;
};

static std::optional<Test> testIn(const Expr &Condition,
                                  const ASTContext &Context) {
  const Expr *E = Condition.IgnoreParenImpCasts();
  auto *Compare = dyn_cast<BinaryOperator>(E);
  if (!Compare || !Compare->isComparisonOp())
    return Test{E};
  Expr::EvalResult Number;
  if (Compare->getRHS()->isValueDependent() ||
      !Compare->getRHS()->EvaluateAsInt(Number, Context) ||
      !Number.Val.getInt().isRepresentableByInt64())
    return std::nullopt;
  return Test{Compare->getLHS()->IgnoreParenImpCasts(), Compare->getOpcode(),
              Number.Val.getInt().getExtValue()};
}

bool isErrno(const Expr &LValue) {
  auto *Deref = dyn_cast<UnaryOperator>(LValue.IgnoreParens());
  auto *Call = Deref && Deref->getOpcode() == UO_Deref
                   ? dyn_cast<CallExpr>(Deref->getSubExpr()->IgnoreParenCasts())
                   : nullptr;
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  return Callee && classifyFunction(*Callee) == CallEffect::Local;
}

ErrnoTest testOfErrno(const Expr &Condition, bool Holds,
                      const ASTContext &Context) {
  std::optional<Test> T = testIn(Condition, Context);
  if (!T || !isErrno(*T->Tested))
    return ErrnoTest::None;
  bool IsEquality = T->Opcode == BO_EQ || T->Opcode == BO_NE;
  return IsEquality && T->Number == EINTR && Holds == (T->Opcode == BO_NE)
             ? ErrnoTest::IsNotInterrupted
             : ErrnoTest::Other;
}

/// Returns true if the comparison holds for a result of 0.
static bool holdsForZero(const Test &T) {
  switch (T.Opcode) {
  case BO_EQ:
    return 0 == T.Number;
  case BO_NE:
    return 0 != T.Number;
  case BO_LT:
    return 0 < T.Number;
  case BO_LE:
    return 0 <= T.Number;
  case BO_GT:
    return 0 > T.Number;
  default:
    return 0 >= T.Number;
  }
}

bool isFailedTry(const Expr &Condition, bool Holds, const ASTContext &Context) {
  std::optional<Test> T = testIn(Condition, Context);
  auto *Call = T ? dyn_cast<CallExpr>(T->Tested) : nullptr;
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  if (!Callee || !Callee->getIdentifier() ||
      classifyFunction(*Callee) != CallEffect::TryLock)
    return false;
  // Of the trylock and trywait functions, only those of POSIX and C are known
  // to return 0 on success.
  StringRef Name = Callee->getName();
  bool ReturnsZero = Name.starts_with("pthread_") || Name.starts_with("sem_") ||
                     Name.starts_with("mtx_");
  return ReturnsZero && holdsForZero(*T) != Holds;
}

} // namespace vfriendly::tidy
