//===- LoopFacts.cpp - What a loop does in one round ----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks one round, in the loop's function and in those it calls, and gives up
// at the first thing that makes the loop more than a wait: that is what keeps
// the check cheap.
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/LoopFacts.h"
#include "checkers/spin-loops/RoundWalker.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace vfriendly::tidy {

LoopShape shapeOf(const Stmt *S) {
  LoopShape Shape;
  if (auto *While = dyn_cast<WhileStmt>(S)) {
    Shape.Condition = While->getCond();
    Shape.Body.push_back(While->getBody());
    Shape.HeadEnd = While->getRParenLoc();
    if (While->getConditionVariable())
      return {}; // Declares anew each round: never a mere wait.
  } else if (auto *For = dyn_cast<ForStmt>(S)) {
    Shape.Condition = For->getCond();
    Shape.Increment = For->getInc();
    Shape.Body.push_back(For->getBody());
    Shape.HeadEnd = For->getRParenLoc();
    if (For->getConditionVariable())
      return {};
  } else if (auto *Do = dyn_cast<DoStmt>(S)) {
    Shape.Condition = Do->getCond();
    Shape.Body.push_back(Do->getBody());
    Shape.HeadEnd = Do->getDoLoc();
    Shape.TestsLast = true;
  } else {
    return Shape;
  }
  Shape.Statement = S;
  return Shape;
}

bool collectFacts(const LoopShape &Shape, const FunctionDecl &Function,
                  LoopFacts &Facts) {
  Facts.Frames.emplace_back();
  Facts.Frames.back().Function = &Function;
  Facts.Begin =
      Shape.backJump() ? Shape.Body.front()->getBeginLoc() : Shape.keyword();
  RoundWalker Walker(Shape, Facts);
  return Walker.walkRound();
}

} // namespace vfriendly::tidy
