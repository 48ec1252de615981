//===- Iterations.cpp - How often loops iterate ---------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/Iterations.h"

#include "checkers/common/Counting.h"
#include "checkers/common/SyncModel.h"
#include "checkers/common/Walk.h"

#include "clang/AST/ASTContext.h"

#include <cstdlib>

using namespace clang;

namespace vfriendly::tidy {

/// Returns the condition of a `for` loop if it is a binary operation.
static const BinaryOperator *conditionOf(const Stmt *Loop) {
  auto *For = dyn_cast<ForStmt>(Loop);
  return For ? dyn_cast_or_null<BinaryOperator>(For->getCond()) : nullptr;
}

int64_t threadsPerCpu(const Stmt *Loop, const ASTContext &Context) {
  const BinaryOperator *Condition = conditionOf(Loop);
  if (!Condition || !Condition->isRelationalOp())
    return 1;
  const Expr *Bound = Condition->getRHS()->IgnoreParenImpCasts();
  if (auto *Ref = dyn_cast<DeclRefExpr>(Bound))
    if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
        Variable && Variable->getAnyInitializer())
      Bound = Variable->getAnyInitializer()->IgnoreParenImpCasts();
  auto *Product = dyn_cast<BinaryOperator>(Bound);
  if (!Product || Product->getOpcode() != BO_Mul)
    return 1;
  for (auto [Factor, Cpus] :
       {std::pair(Product->getLHS(), Product->getRHS()),
        std::pair(Product->getRHS(), Product->getLHS())}) {
    auto *Call = dyn_cast<CallExpr>(Cpus->IgnoreParenImpCasts());
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    if (Callee && Callee->getIdentifier() &&
        llvm::is_contained(
            {"hardware_concurrency", "get_nprocs", "omp_get_num_procs"},
            Callee->getName()))
      if (std::optional<int64_t> Value = smallConstant(Factor, Context))
        return *Value;
  }
  return 1;
}

std::optional<int64_t> elementsOf(const CXXForRangeStmt &Loop,
                                  const FunctionDecl &In,
                                  const ASTContext &Context) {
  const Expr *Range = Loop.getRangeInit();
  if (const ConstantArrayType *Array =
          Context.getAsConstantArrayType(Range->getType()))
    return Array->getZExtSize();
  auto *Ref = dyn_cast<DeclRefExpr>(Range->IgnoreParenImpCasts());
  auto *List = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
  const Expr *Values =
      List && List->hasLocalStorage() ? List->getInit() : Range;
  if (!Values || !In.getBody())
    return std::nullopt;
  std::optional<int64_t> Elements;
  forEachStmt(Values, [&](const Stmt *S, ArrayRef<const Stmt *> Parents) {
    auto *Braces = dyn_cast<InitListExpr>(S);
    if (Braces && !Elements && !Parents.empty() &&
        llvm::any_of(Parents, llvm::IsaPred<CXXStdInitializerListExpr>))
      Elements = Braces->getNumInits();
  });
  unsigned Named = 0;
  forEachStmtAndLambda(In.getBody(),
                       [&](const Stmt *S, ArrayRef<const Stmt *>) {
                         auto *Other = dyn_cast<DeclRefExpr>(S);
                         Named += Other && List && Other->getDecl() == List;
                       });
  return Named <= 1 ? Elements : std::nullopt;
}

std::optional<int64_t> iterationsOf(const Stmt *Loop,
                                    const ASTContext &Context) {
  const BinaryOperator *Condition = conditionOf(Loop);
  if (!Condition || !Condition->isComparisonOp())
    return std::nullopt;
  std::optional<int64_t> Bound = smallConstant(Condition->getRHS(), Context);
  auto *For = cast<ForStmt>(Loop);
  const ValueDecl *Counter = objectOf(Condition->getLHS());
  std::optional<CountStart> First = startOf(For->getInit(), Context);
  std::optional<int64_t> Start;
  if (First && First->Counter == Counter)
    Start = First->Value;
  int64_t Step = Counter ? stepOf(For->getInc(), Counter, Context) : 0;
  if (!Bound || (Step < 0 && !Start))
    return std::nullopt;
  int64_t Distance = std::abs(*Bound - Start.value_or(0));
  bool IncludesBound =
      Condition->getOpcode() == BO_LE || Condition->getOpcode() == BO_GE;
  int64_t By = Step ? std::abs(Step) : 1;
  return (Distance + By - 1) / By + IncludesBound;
}

/// Maximum number of iterations of a loop around threads that is ignored, such
/// as the repetitions of a measurement.
static constexpr int64_t FewIterations = 16;

bool iteratesSeldom(const Stmt *Loop, const ASTContext &Context) {
  return iterationsOf(Loop, Context).value_or(INT64_MAX) <= FewIterations;
}

} // namespace vfriendly::tidy
