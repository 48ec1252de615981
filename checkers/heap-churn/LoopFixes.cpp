//===- LoopFixes.cpp - Fix-its for loops over heap memory -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/heap-churn/Fixes.h"

#include "checkers/common/SourceText.h"
#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/Induction.h"

#include "clang/AST/ASTContext.h"
#include "clang/Basic/TargetInfo.h"

using namespace clang;

namespace vfriendly::tidy {

/// Returns the text of E, in parentheses unless E is a name or a number, so
/// that it can be an operand of any operator; empty if E has no text of its
/// own.
static std::string operandText(const Expr *E, const ASTContext &Context) {
  std::string Text = textOf(E, Context);
  if (!Text.empty() &&
      !isa<DeclRefExpr, IntegerLiteral, ParenExpr>(E->IgnoreImpCasts()))
    Text = "(" + Text + ")";
  return Text;
}

/// Returns the only statement of a body; null if there are more.
static const Stmt *onlyStatement(const Stmt *Body) {
  while (auto *Block = dyn_cast<CompoundStmt>(Body)) {
    if (Block->size() != 1)
      return nullptr;
    Body = Block->body_front();
  }
  return Body;
}

/// Returns the minuend if E is `Minuend - 1`, else null.
static const Expr *lessOne(const Expr *E, const ASTContext &Context) {
  auto *Minus = dyn_cast<BinaryOperator>(E->IgnoreParenImpCasts());
  if (!Minus || Minus->getOpcode() != BO_Sub ||
      constantOf(Minus->getRHS(), Context) != std::optional<int64_t>(1))
    return nullptr;
  return Minus->getLHS();
}

static bool isSame(const Expr *A, const Expr *B, const ASTContext &Context) {
  std::optional<int64_t> X = constantOf(A, Context), Y = constantOf(B, Context);
  if (X || Y)
    return X == Y;
  const VarDecl *V = variableOf(A);
  return V && V == variableOf(B);
}

/// Returns true if the expression names the same array in all iterations and
/// has no side effect.
static bool isPlainBase(const Expr *E, const Stmt *Loop,
                        const FunctionView &View) {
  E = E->IgnoreParenImpCasts();
  if (auto *Member = dyn_cast<MemberExpr>(E))
    return isPlainBase(Member->getBase(), Loop, View);
  if (isa<CXXThisExpr>(E))
    return true;
  const VarDecl *Variable = variableOf(E);
  if (!Variable || Variable->getType().isVolatileQualified())
    return false;
  for (const DeclRefExpr *Ref : View.refs(*Variable))
    if (View.isWithin(Ref, Loop) &&
        (!View.writesOf(*Variable) && !Variable->getType()->isArrayType() &&
         !Variable->getType()->isRecordType() &&
         !Variable->getType()->isReferenceType()))
      return false;
  return true;
}

/// Returns true if the blocks that Release releases in a loop may be released
/// in any order.
static bool isReleasedAnyOrder(const HeapCall &Release) {
  if (auto *Delete = dyn_cast<CXXDeleteExpr>(Release.Site)) {
    QualType Type = Delete->getDestroyedType();
    auto *Record = Type.isNull() ? nullptr : Type->getAsCXXRecordDecl();
    return !Type.isNull() && (!Record || (Record->hasDefinition() &&
                                          Record->hasTrivialDestructor()));
  }
  // Accepts free only: another release function of the program may have side
  // effects that are unknown.
  return Release.Callee && Release.Callee->getBuiltinID() == Builtin::BIfree;
}

FixHints reverseLoop(const ElementCall &Release, FunctionView &View) {
  const ASTContext &Context = View.Context;
  std::optional<Counted> By = countedBy(Release.Loop, View);
  const Stmt *Only = onlyStatement(loopBody(Release.Loop));
  // `if (a[i]) free(a[i]);`
  if (auto *If = dyn_cast_or_null<IfStmt>(Only);
      If && !If->getElse() && !If->getInit() &&
      isa<ArraySubscriptExpr>(If->getCond()->IgnoreParenImpCasts()))
    Only = nullptr; // The fix would have to change both subscripts.
  auto *Subscript =
      dyn_cast<ArraySubscriptExpr>(Release.Call->Pointer->IgnoreParenCasts());
  if (!By || Only != Release.Call->Site || !Subscript ||
      !isReleasedAnyOrder(*Release.Call) ||
      !isEditable(Release.Loop->getSourceRange(), View) ||
      !isEditable(By->Condition->getSourceRange(), View) ||
      !isEditable(Release.Index->getSourceRange(), View) ||
      !isPlainBase(Subscript->getBase(), Release.Loop, View) ||
      !isInvariant(By->Begin, Release.Loop, View) ||
      !isInvariant(By->Condition->getRHS(), Release.Loop, View))
    return {};
  std::string Name = By->Counter->getName().str();
  const Expr *Bound = By->Condition->getRHS();
  std::optional<int64_t> Zero = constantOf(Bound, Context);
  auto Replace = [](const Expr *E, const Twine &Text) {
    return FixItHint::CreateReplacement(E->getSourceRange(), Text.str());
  };
  const Expr *Index = Release.Index->IgnoreParenImpCasts();
  if (By->Step->isIncrementOp()) {
    // Handles `for (i = 0; i < n; ++i) free(a[n - 1 - i]);`.
    auto *Minus = dyn_cast<BinaryOperator>(Index);
    if (constantOf(By->Begin, Context) != std::optional<int64_t>(0) ||
        By->Condition->getOpcode() != BO_LT || !Minus ||
        Minus->getOpcode() != BO_Sub ||
        variableOf(Minus->getRHS()) != By->Counter)
      return {};
    const Expr *Count = lessOne(Minus->getLHS(), Context);
    std::optional<int64_t> Last = constantOf(Minus->getLHS(), Context),
                           Iterations = constantOf(Bound, Context);
    bool Covers = Last && Iterations
                      ? *Iterations > 0 && *Last == *Iterations - 1
                      : Count && isSame(Count, Bound, Context);
    if (!Covers)
      return {};
    return {Replace(Release.Index, Name)};
  }
  FixHints Hints;
  std::string Step = By->Step->isPostfix() ? Name + "++" : "++" + Name;
  if (variableOf(Index) == By->Counter && By->Condition->getOpcode() == BO_GE &&
      Zero == 0) {
    // Handles `for (i = n - 1; i >= 0; --i) free(a[i]);`.
    const Expr *Count = lessOne(By->Begin, Context);
    std::string Text = operandText(Count ? Count : By->Begin, Context);
    if (Text.empty())
      return {};
    Hints.push_back(
        Replace(By->Condition, Name + (Count ? " < " : " <= ") + Text));
  } else if (const Expr *Before = lessOne(Index, Context);
             Before && variableOf(Before) == By->Counter &&
             (By->Condition->getOpcode() == BO_GT ||
              By->Condition->getOpcode() == BO_NE) &&
             Zero == 0) {
    // Handles `for (i = n; i > 0; --i) free(a[i - 1]);`.
    std::string Text = operandText(By->Begin, Context);
    if (Text.empty())
      return {};
    Hints.push_back(Replace(By->Condition, Name + " < " + Text));
    Hints.push_back(Replace(Release.Index, Name));
  } else {
    return {};
  }
  Hints.push_back(Replace(By->Begin, "0"));
  Hints.push_back(Replace(By->Step, Step));
  return Hints;
}

/// Returns the largest page size of the target architecture. A multiple of this
/// size is a multiple of every page size of the architecture.
static int64_t largestPage(const ASTContext &Context) {
  return Context.getTargetInfo().getTriple().isX86() ? 4096 : 65536;
}

FixHints oneCall(const CallExpr &Call, FunctionView &View) {
  const ASTContext &Context = View.Context;
  StringRef Name = Call.getDirectCallee()->getName();
  // Accepts madvise and munmap only. A single mprotect stops at the first range
  // that fails, and a loop of mprotect calls goes on after it.
  if ((Name != "madvise" && Name != "munmap") || Call.getNumArgs() < 2)
    return {};
  const Stmt *Loop = View.loopAround(Call);
  std::optional<Counted> By = countedBy(Loop, View);
  auto *Sum = dyn_cast<BinaryOperator>(Call.getArg(0)->IgnoreParenImpCasts());
  std::optional<int64_t> Length = constantOf(Call.getArg(1), Context);
  if (!By || onlyStatement(loopBody(Loop)) != &Call || !Length ||
      *Length <= 0 || *Length % largestPage(Context) != 0 || !Sum ||
      Sum->getOpcode() != BO_Add || !By->Step->isIncrementOp() ||
      By->Condition->getOpcode() != BO_LT ||
      constantOf(By->Begin, Context) != std::optional<int64_t>(0) ||
      !isEditable(Loop->getSourceRange(), View) ||
      !hasRoomBefore(Loop->getBeginLoc(), Context) ||
      !isInvariant(By->Condition->getRHS(), Loop, View) ||
      !isInvariant(Sum->getLHS(), Loop, View))
    return {};
  QualType Element = Sum->getType()->getPointeeType();
  auto *Product =
      dyn_cast<BinaryOperator>(Sum->getRHS()->IgnoreParenImpCasts());
  if (Element.isNull() || !(Element->isCharType() || Element->isVoidType()) ||
      !Product || Product->getOpcode() != BO_Mul)
    return {};
  const Expr *Factor = Product->getLHS(), *Size = Product->getRHS();
  if (variableOf(Factor) != By->Counter)
    std::swap(Factor, Size);
  if (variableOf(Factor) != By->Counter || constantOf(Size, Context) != Length)
    return {};
  std::string Base = textOf(Sum->getLHS(), Context),
              Each = operandText(Call.getArg(1), Context),
              Iterations = operandText(By->Condition->getRHS(), Context);
  SourceLocation End = endOfStatement(Loop, Context);
  if (Base.empty() || Each.empty() || Iterations.empty() || End.isInvalid())
    return {};
  const Expr *Bound = By->Condition->getRHS()->IgnoreParenImpCasts();
  std::string Text =
      Name.str() + "(" + Base + ", (size_t)" + Iterations + " * " + Each;
  for (unsigned I = 2; I < Call.getNumArgs(); ++I)
    Text += ", " + textOf(Call.getArg(I), Context);
  Text += ");";
  // If the bound may be negative, the loop may have no iterations, so the new
  // call is made under the condition that there is one.
  std::optional<int64_t> Known = constantOf(Bound, Context);
  if (!(Known && *Known >= 0) && !Bound->getType()->isUnsignedIntegerType())
    Text = "if (" + Iterations + " > 0)\n" +
           indentAt(Loop->getBeginLoc(), Context).str() + "  " + Text;
  return {FixItHint::CreateReplacement(
      CharSourceRange::getCharRange(Loop->getBeginLoc(), End), Text)};
}

FixHints releaseEarlier(const HeapCall &Release, const Stmt &Phase,
                        const CompoundStmt &Block, FunctionView &View) {
  const ASTContext &Context = View.Context;
  const VarDecl *Owner = variableOf(Release.Pointer);
  const Stmt *Before = View.partOf(Block, &Phase),
             *Old = View.partOf(Block, Release.Site);
  if (View.hasLabels() || !Release.Callee || !Before || Old != Release.Site ||
      Release.Callee->getBuiltinID() != Builtin::BIfree ||
      isa_and_nonnull<SwitchStmt>(View.parent(&Block)) ||
      !isEditable({Before->getBeginLoc(), Old->getEndLoc()}, View) ||
      !isEditable(Old->getSourceRange(), View) ||
      !hasRoomBefore(Before->getBeginLoc(), Context))
    return {};
  for (const HeapCall &Other : View.calls())
    if (&Other != &Release && Other.Op != HeapOp::Allocate &&
        variableOf(Other.Pointer) == Owner)
      return {};
  CharSourceRange Range = wholeStatement(Old, Context);
  std::string Text = textOf(Release.Site, Context);
  if (Range.isInvalid() || Text.empty())
    return {};
  return {FixItHint::CreateInsertion(
              Before->getBeginLoc(),
              Text + ";\n" + indentAt(Before->getBeginLoc(), Context).str()),
          FixItHint::CreateRemoval(Range)};
}

FixHints growByFactor(const HeapCall &Resize, const VarDecl &Capacity,
                      FunctionView &View) {
  const ASTContext &Context = View.Context;
  // Requires an unsigned type of 64 bits: with a narrower type the larger steps
  // might overflow where the constant steps did not.
  if (!Capacity.hasLocalStorage() ||
      !Capacity.getType()->isUnsignedIntegerType() ||
      Context.getTypeSize(Capacity.getType()) < 64)
    return {};
  const BinaryOperator *Grows = nullptr;
  std::optional<StmtSet> Writes = View.writesOf(Capacity);
  if (!Writes)
    return {};
  for (const Stmt *Write : *Writes) {
    auto *Assign = dyn_cast<BinaryOperator>(Write);
    if (Assign && Assign->getOpcode() == BO_Assign &&
        !View.isWithin(Assign, View.loopAround(*Resize.Site)))
      continue;
    if (!Assign || Grows || Assign->getOpcode() != BO_AddAssign ||
        !constantOf(Assign->getRHS(), Context))
      return {};
    Grows = Assign;
  }
  if (!Grows || !isa<CompoundStmt>(View.parent(Grows)) ||
      !isEditable(Grows->getSourceRange(), View) ||
      View.parent(Grows) !=
          View.parent(
              View.partOf(*cast<CompoundStmt>(View.parent(Grows)), Resize.Site)
                  ? Grows
                  : Resize.Site))
    return {};
  // Requires that Capacity is only increased, passed to Resize, and compared to
  // decide whether to grow the block.
  bool Guarded = false;
  for (const DeclRefExpr *Ref : View.refs(Capacity)) {
    if (View.isWithin(Ref, Resize.Site))
      continue;
    const Stmt *P = View.parent(Ref);
    while (isa_and_nonnull<ParenExpr, ImplicitCastExpr>(P))
      P = View.parent(P);
    auto *Binary = dyn_cast_or_null<BinaryOperator>(P);
    if (Binary && Binary->isAssignmentOp() &&
        variableOf(Binary->getLHS()) == &Capacity)
      continue;
    auto *If = dyn_cast_or_null<IfStmt>(P ? View.parent(P) : nullptr);
    if (!Binary || !Binary->isComparisonOp() || !If || If->getElse() ||
        If->getCond() != Binary || !View.isWithin(Resize.Site, If->getThen()) ||
        !View.isWithin(Grows, If->getThen()))
      return {};
    Guarded = true;
  }
  std::string Value = operandText(Grows->getRHS(), Context);
  if (!Guarded || Value.empty())
    return {};
  return {FixItHint::CreateReplacement(
      Grows->getRHS()->getSourceRange(),
      (Capacity.getName() + " / 2 + " + Value).str())};
}

} // namespace vfriendly::tidy
