//===- VectorGrowth.cpp - Vectors that grow to a known size ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/VectorGrowth.h"

#include "checkers/common/SourceText.h"
#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/Induction.h"
#include "checkers/heap-churn/IterationLocals.h"

#include "clang/AST/ASTContext.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

static StringRef methodOf(const CXXMemberCallExpr *Call) {
  return Call ? identifierOf(Call->getMethodDecl()) : "";
}

/// Returns the call of a member function on the object that Ref names; null if
/// there is none.
static const CXXMemberCallExpr *callOn(const DeclRefExpr &Ref,
                                       const FunctionView &View) {
  const Stmt *P = View.parent(&Ref);
  while (isa_and_nonnull<ImplicitCastExpr, ParenExpr>(P))
    P = View.parent(P);
  return isa_and_nonnull<MemberExpr>(P)
             ? dyn_cast_or_null<CXXMemberCallExpr>(View.parent(P))
             : nullptr;
}

/// What a statement may leave without leaving an iteration of the loop.
struct Inside {
  bool Loop = false, Switch = false;
};

/// Returns true if every iteration runs to its end, and only the loop's
/// condition ends the loop. Inner loops may end as they like.
static bool runsAllIterations(const Stmt *S, Inside Of = {}) {
  if (isa<ReturnStmt, GotoStmt, CXXThrowExpr, CoreturnStmt, LambdaExpr>(S) ||
      (isa<ContinueStmt>(S) && !Of.Loop) ||
      (isa<BreakStmt>(S) && !Of.Loop && !Of.Switch))
    return false;
  Of.Loop |= isLoop(S);
  Of.Switch |= isa<SwitchStmt>(S);
  return llvm::all_of(S->children(), [&](const Stmt *Child) {
    return !Child || runsAllIterations(Child, Of);
  });
}

/// Returns the expression that gives the number of iterations: the bound of a
/// for, the range of a range-for.
static const Expr *countOf(const Stmt *Loop, const FunctionView &View) {
  if (auto *Range = dyn_cast<CXXForRangeStmt>(Loop)) {
    const Expr *Init = Range->getRangeInit();
    return llvm::StringSwitch<bool>(stdKindOf(Init->getType()))
                   .Case("vector", true)
                   .Case("deque", true)
                   .Case("list", true)
                   .Case("set", true)
                   .Case("map", true)
                   .Case("unordered_set", true)
                   .Case("unordered_map", true)
                   .Default(false)
               ? Init
               : nullptr;
  }
  std::optional<Counted> By = countedBy(Loop, View);
  if (!By || By->Condition->getOpcode() != BO_LT ||
      !By->Step->isIncrementOp() ||
      constantOf(By->Begin, View.Context) != std::optional<int64_t>(0))
    return nullptr;
  const Expr *Bound = By->Condition->getRHS();
  auto *Call = dyn_cast<CXXMemberCallExpr>(Bound->IgnoreParenImpCasts());
  bool Known = isInvariant(Bound, Loop, View) || methodOf(Call) == "size";
  return Known ? Bound : nullptr;
}

std::optional<GrownVector> findGrownVector(const VarDecl &Variable,
                                           FunctionView &View) {
  auto *Construct = dyn_cast_or_null<CXXConstructExpr>(Variable.getInit());
  if (!Variable.hasLocalStorage() || !Construct ||
      Construct->getNumArgs() != 0 || stdKindOf(Variable.getType()) != "vector")
    return std::nullopt;
  GrownVector Found{&Variable};
  for (const DeclRefExpr *Ref : View.refs(Variable)) {
    const CXXMemberCallExpr *Call = callOn(*Ref, View);
    StringRef Method = methodOf(Call);
    if (Method == "reserve" || Method == "capacity" || Method == "swap")
      return std::nullopt;
    if (Method == "push_back" || Method == "emplace_back") {
      // Found.Push becomes the first call of push_back or emplace_back.
      if (!Found.Push || Ref->getBeginLoc() < Found.Push->getBeginLoc())
        Found.Push = Call;
    }
  }
  if (!Found.Push)
    return std::nullopt;
  Found.Loop = View.loopAround(*Found.Push);
  auto *Body =
      Found.Loop ? dyn_cast<CompoundStmt>(loopBody(Found.Loop)) : nullptr;
  auto *Block = Found.Loop
                    ? dyn_cast_or_null<CompoundStmt>(View.parent(Found.Loop))
                    : nullptr;
  if (!Body || Body->size() < 2 || !Block || !runsAllIterations(Body) ||
      View.hasLabels() || !countOf(Found.Loop, View))
    return std::nullopt;
  const Stmt *Part = View.partOf(*Body, Found.Push);
  if (auto *Full = dyn_cast_or_null<FullExpr>(Part))
    Part = Full->getSubExpr();
  if (Part != Found.Push)
    return std::nullopt;
  // Requires that the vector is empty before the loop, and that in the loop
  // only Push adds elements.
  bool Declared = false;
  for (const Stmt *S : Block->body()) {
    if (S == Found.Loop)
      break;
    if (auto *D = dyn_cast<DeclStmt>(S))
      Declared |= llvm::is_contained(D->decls(), &Variable);
  }
  for (const DeclRefExpr *Ref : View.refs(Variable)) {
    if (Ref->getBeginLoc() < Found.Loop->getBeginLoc())
      return std::nullopt;
    const CXXMemberCallExpr *Call = callOn(*Ref, View);
    if (View.isWithin(Ref, Found.Loop) && Call != Found.Push &&
        methodOf(Call) != "size" && methodOf(Call) != "back")
      return std::nullopt;
  }
  if (!Declared)
    return std::nullopt;
  return Found;
}

FixHints reserveBefore(const GrownVector &Grown, FunctionView &View) {
  const ASTContext &Context = View.Context;
  const Expr *Count = countOf(Grown.Loop, View);
  SourceLocation Begin = Grown.Loop->getBeginLoc();
  std::string Text = textOf(Count, Context);
  if (Text.empty() || !isEditable(Grown.Loop->getSourceRange(), View) ||
      !isEditable(Count->getSourceRange(), View) ||
      !hasRoomBefore(Begin, Context))
    return {};
  const Expr *Plain = Count->IgnoreParenImpCasts();
  if (isa<CXXForRangeStmt>(Grown.Loop)) {
    if (!isa<DeclRefExpr, MemberExpr>(Plain))
      return {};
    Text += ".size()";
  } else if (!isInvariant(Count, Grown.Loop, View) ||
             !(Plain->getType()->isUnsignedIntegerType() ||
               constantOf(Plain, Context).value_or(-1) >= 0)) {
    return {}; // If the count is negative, reserve would throw.
  }
  return {FixItHint::CreateInsertion(
      Begin, Grown.Variable->getName().str() + ".reserve(" + Text + ");\n" +
                 indentAt(Begin, Context).str())};
}

} // namespace vfriendly::tidy
