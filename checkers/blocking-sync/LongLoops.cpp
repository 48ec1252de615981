//===- LongLoops.cpp - Loops without a small limit ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (e = list; e; e = e->next) {
//     if (e->key == key) {       a search: short, or the list is the fault
//       wake(e);                 once: the loop ends here
//       break;
//     }
//     wake(e);                   work for each element
//   }
//
// A step along a list takes as long as a miss of the cache. Work is what may
// take longer in each iteration: a call of a function that does not show or
// does such a thing itself, or another loop.
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/LongCalls.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/Counting.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum depth of calls that are followed from a loop.
static constexpr unsigned MaxWorkDepth = 3;

/// Returns true for a `for` loop that advances by a page or more and writes
/// memory.
static bool touchesPages(const Stmt &S, const ASTContext &Context) {
  auto *For = dyn_cast<ForStmt>(&S);
  auto *Step =
      For ? dyn_cast_or_null<CompoundAssignOperator>(For->getInc()) : nullptr;
  if (!Step || Step->getOpcode() != BO_AddAssign ||
      constantOf(Step->getRHS(), Context).value_or(0) < int64_t(PageSize))
    return false;
  bool Writes = false;
  forEachStmt(For->getBody(), [&](const Stmt *Below, ArrayRef<const Stmt *>) {
    auto *Assign = dyn_cast<BinaryOperator>(Below);
    Writes |= Assign && Assign->isAssignmentOp() &&
              isa<ArraySubscriptExpr, UnaryOperator>(
                  Assign->getLHS()->IgnoreParenCasts());
  });
  return Writes;
}

/// Returns true if S leaves the loop around it or the function.
static bool leaves(const Stmt *S) {
  if (isa<BreakStmt, ReturnStmt, GotoStmt>(S))
    return true;
  const FunctionDecl *Callee = calleeOf(S);
  return Callee && Callee->isNoReturn();
}

/// Returns true for `for (;;) {}`, which a macro has for the end of the
/// program.
static bool isEndless(const Stmt &Loop) {
  auto *Body = dyn_cast<CompoundStmt>(loopBody(&Loop));
  auto *For = dyn_cast<ForStmt>(&Loop);
  return For && !For->getCond() && !For->getInc() &&
         (Body ? Body->body_empty() : isa<NullStmt>(For->getBody()));
}

/// Returns false for a loop with a small limit, and for one that tries again:
/// it changes something by an atomic operation.
bool LongCalls::hasNoSmallLimit(const Stmt &Loop) {
  if (auto *Range = dyn_cast<CXXForRangeStmt>(&Loop)) {
    const VarDecl *Over =
        dyn_cast_or_null<VarDecl>(Range->getRangeStmt()->getSingleDecl());
    return !Over ||
           !Over->getType().getNonReferenceType()->isConstantArrayType();
  }
  if (hasFewIterations(&Loop, Context) || runsOnce(Loop, Context) ||
      isEndless(Loop))
    return false;
  bool Waits = false;
  forEachStmt(&Loop, [&](const Stmt *S, ArrayRef<const Stmt *>) {
    auto *E = dyn_cast<Expr>(S);
    std::optional<AtomicOp> Op = E ? matchAtomicOp(E) : std::nullopt;
    Waits |= Op && Op->Kind != AtomicKind::Load;
  });
  return !Waits;
}

bool LongCalls::works(const CallExpr &Call, bool IsTested, unsigned Depth) {
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!Callee)
    return !Call.isTypeDependent();
  if (Callee->getBuiltinID() || Callee->isNoReturn() || isOfStd(*Callee) ||
      Callee->hasAttr<ConstAttr>() || Callee->hasAttr<PureAttr>() ||
      classifyCall(Call, *Callee) != CallEffect::Other)
    return false;
  const FunctionDecl *Definition = nullptr;
  if (!Callee->isDefined(Definition))
    return !IsTested &&
           !Context.getSourceManager().isInSystemHeader(Callee->getLocation());
  if (Depth >= MaxWorkDepth || Definition->isDependentContext())
    return false;
  auto [Where, IsNew] = Works.try_emplace(Definition, false);
  if (!IsNew)
    return Where->second;
  bool Does = works(Definition->getBody(), Depth + 1);
  return Works[Definition] = Does;
}

/// Returns true if S does work. A block that ends by leaving the loop does not
/// count.
bool LongCalls::works(const Stmt *S, unsigned Depth) {
  if (!S || isa<ReturnStmt, LambdaExpr>(S))
    return false;
  if (auto *Block = dyn_cast<CompoundStmt>(S);
      Block && Depth == 0 && !Block->body_empty() && leaves(Block->body_back()))
    return false;
  if (isLoop(S) && hasNoSmallLimit(*S))
    return true;
  if (auto *Call = dyn_cast<CallExpr>(S); Call && works(*Call, false, Depth))
    return true;
  const Expr *Test = nullptr;
  if (auto *If = dyn_cast<IfStmt>(S))
    Test = If->getCond();
  else if (isLoop(S))
    Test = loopCondition(S);
  for (const Stmt *Child : S->children()) {
    if (Child && Child == Test) {
      bool Does = false;
      forEachStmt(Child, [&](const Stmt *Below, ArrayRef<const Stmt *>) {
        auto *Call = dyn_cast<CallExpr>(Below);
        Does |= Call && works(*Call, true, Depth);
      });
      if (Does)
        return true;
    } else if (works(Child, Depth)) {
      return true;
    }
  }
  return false;
}

std::optional<LongCall> LongCalls::loop(const Stmt &Loop) {
  if (touchesPages(Loop, Context))
    return LongCall{LongKind::Pages, &Loop, "a loop over pages"};
  if (runsOnce(Loop, Context))
    return std::nullopt;
  bool Does = false;
  if (hasNoSmallLimit(Loop))
    Does = works(loopBody(&Loop), 0);
  else // A walk along each of several lists.
    forEachStmt(loopBody(&Loop), [&](const Stmt *S, ArrayRef<const Stmt *>) {
      Does |= isLoop(S) && hasNoSmallLimit(*S);
    });
  return Does ? std::optional(LongCall{LongKind::Loop, &Loop, "a loop"})
              : std::nullopt;
}

} // namespace vfriendly::tidy
