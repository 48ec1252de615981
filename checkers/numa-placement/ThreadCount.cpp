//===- ThreadCount.cpp - Numbers of threads -------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/ThreadCount.h"

#include "checkers/common/Counting.h"
#include "checkers/common/Loops.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace vfriendly::tidy {

ThreadCounts::ThreadCounts(const UnitValues &Values, const ASTContext &Context)
    : Origins(Values, Context), Context(Context) {
  for (const Site &Start : Values.threadStarts())
    if (const Stmt *Loop = innermostLoop(Start.Parents))
      if (const BinaryOperator *Condition = comparisonOf(Loop))
        if (Condition->isRelationalOp())
          if (const ValueDecl *Bound = rootOf(Condition->getRHS()))
            Bounds.insert(Bound);
}

static bool isNamedThreads(const ValueDecl &Variable) {
  if (!Variable.getIdentifier())
    return false;
  std::string Name = Variable.getName().lower();
  return StringRef(Name).contains("thread") ||
         StringRef(Name).contains("worker") || Name == "nproc" ||
         Name == "nprocs" || Name == "ncpus" || Name == "ncores";
}

bool ThreadCounts::contains(const Site &Number) {
  Site Count = Number;
  Count.E = stripped(Count.E);
  // `count * sizeof *x`, `count + 1`
  while (auto *Binary = dyn_cast_or_null<BinaryOperator>(Count.E)) {
    if (!Binary->isMultiplicativeOp() && !Binary->isAdditiveOp())
      break;
    const Expr *Left = stripped(Binary->getLHS()),
               *Right = stripped(Binary->getRHS());
    if (constantOf(Right, Context))
      Count.E = Left;
    else if (constantOf(Left, Context))
      Count.E = Right;
    else
      return false;
  }
  auto *Integer = dyn_cast_or_null<IntegerLiteral>(Count.E);
  if (!Count.E || Integer)
    return false;
  const ValueDecl *Variable = rootOf(Count.E);
  if (Variable && (Bounds.contains(Variable) || isNamedThreads(*Variable)))
    return true;
  return Origins.of(Count).Kind == Origin::CpuCount;
}

} // namespace vfriendly::tidy
