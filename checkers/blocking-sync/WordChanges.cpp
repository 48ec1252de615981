//===- WordChanges.cpp - What a statement does to a lock's word -----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/WordChanges.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/ClangVersions.h"
#include "checkers/common/SyncModel.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ASTContext.h"

using namespace clang;

namespace vfriendly::tidy {

bool isConstant(const Expr *E, const ASTContext &Context) {
  E = E->IgnoreParenCasts();
  if (E->isValueDependent())
    return false;
  Expr::EvalResult Value;
  return E->EvaluateAsInt(Value, Context);
}

/// Returns true for an operation that sets the object to a constant, or
/// exchanges a constant for something.
static bool setsConstant(const AtomicOp &Op, const ASTContext &Context) {
  if (!Op.Value || isConstant(Op.Value, Context))
    return true;
  const ValueDecl *Expected = objectOf(Op.Expected);
  auto *Variable = dyn_cast_or_null<VarDecl>(Expected);
  if (Variable && Variable->hasLocalStorage() && Variable->getInit())
    return isConstant(Variable->getInit(), Context);
  return Op.Expected && isConstant(Op.Expected, Context);
}

/// Returns true for a constant most of whose bits are set: `and` with it clears
/// the others, whatever they were.
static bool clearsBits(const Expr *Mask, const ASTContext &Context) {
  Expr::EvalResult Value;
  if (!Mask || Mask->isValueDependent() || !Mask->EvaluateAsInt(Value, Context))
    return false;
  const llvm::APSInt &Bits = Value.Val.getInt();
  return Bits.popcount() > Bits.getBitWidth() / 2;
}

/// Returns the variable or field that assembly works on: its only output in
/// memory or, without one, the only address in a register.
static const ValueDecl *objectOfAsm(const GCCAsmStmt &Asm) {
  SmallVector<const Expr *, 2> Outputs, Addresses;
  for (unsigned I = 0; I < Asm.getNumOutputs(); ++I)
    if (StringRef(Asm.getOutputConstraint(I)).contains('m'))
      Outputs.push_back(Asm.getOutputExpr(I));
  for (unsigned I = 0; I < Asm.getNumInputs(); ++I)
    if (Asm.getInputExpr(I)->getType()->isPointerType())
      Addresses.push_back(Asm.getInputExpr(I));
  const auto &Candidates = Outputs.empty() ? Addresses : Outputs;
  return Candidates.size() == 1 ? objectOf(Candidates.front()) : nullptr;
}

static WordChange ofAsm(const GCCAsmStmt &Asm) {
  WordChange Change{WordChange::None, objectOfAsm(Asm), true};
  switch (classifyAsm(Asm)) {
  case CallEffect::AsmTry:
    Change.Is = WordChange::Set;
    return Change;
  case CallEffect::AsmAdd:
    Change.Is = WordChange::Add;
    return Change;
  case CallEffect::AsmStore:
    Change.Is = WordChange::Store;
    return Change;
  case CallEffect::Other:
    break;
  default:
    return Change;
  }
  // Several instructions: x86's exchanges, and conditional stores of others.
  std::string Whole = textOfAsm(Asm);
  StringRef Text = Whole;
  auto Has = [&](std::initializer_list<StringRef> Any) {
    return llvm::any_of(Any, [&](StringRef W) { return Text.contains(W); });
  };
  if (Has({"xchg", "bts", "stxr", "stlxr", "strex", "stwcx", "swp", "sc."})) {
    Change.Is = WordChange::Set;
    Change.Polls = Has({"pause", "rep", "yield", "wfe"});
  } else if (Change.Object) {
    Change.Is = Has({"xadd"}) ? WordChange::Add : WordChange::Store;
  }
  return Change;
}

/// Returns true for an object that other threads may change at any time.
static bool isShared(const Expr *E) {
  QualType T = E->getType();
  return T.isVolatileQualified() || isAtomicType(T);
}

WordChange changeOf(const Stmt *S, const ASTContext &Context) {
  if (auto *Asm = dyn_cast<GCCAsmStmt>(S))
    return ofAsm(*Asm);
  if (auto *Assign = dyn_cast<BinaryOperator>(S)) {
    if (!Assign->isAssignmentOp() || !isShared(Assign->getLHS()))
      return {};
    if (Assign->getOpcode() != BO_Assign)
      return {WordChange::Add, objectOf(Assign->getLHS())};
    return isConstant(Assign->getRHS(), Context)
               ? WordChange{WordChange::Store, objectOf(Assign->getLHS())}
               : WordChange();
  }
  if (auto *Unary = dyn_cast<UnaryOperator>(S))
    return Unary->isIncrementDecrementOp() && isShared(Unary->getSubExpr())
               ? WordChange{WordChange::Add, objectOf(Unary->getSubExpr())}
               : WordChange();
  auto *E = dyn_cast<Expr>(S);
  std::optional<AtomicOp> Op = E ? matchAtomicOp(E) : std::nullopt;
  if (!Op)
    return {};
  switch (Op->Kind) {
  case AtomicKind::SetBits:
    if (clearsBits(Op->Value, Context))
      return {WordChange::Store, objectOf(Op->Object)};
    [[fallthrough]];
  case AtomicKind::Exchange:
  case AtomicKind::CompareExchange:
    return {WordChange::Set, objectOf(Op->Object), setsConstant(*Op, Context)};
  case AtomicKind::Modify:
    return {WordChange::Add, objectOf(Op->Object)};
  case AtomicKind::Store:
    return {WordChange::Store, objectOf(Op->Object)};
  default:
    return {};
  }
}

} // namespace vfriendly::tidy
