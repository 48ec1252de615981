//===- TextualForms.cpp - Waits in code that has no IR --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/TextualForms.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/WaitNeutral.h"
#include "passes/analysis/common/TellingNames.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/StringSwitch.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

class FormMatcher {
public:
  explicit FormMatcher(const ASTContext &Context) : Context(Context) {}

  /// Returns true for statements that only give spin hints.
  bool onlyHints(const Stmt *S);
  /// Returns true for a condition that only polls and compares.
  bool onlyPolls(const Expr *E);

  TextualWait Found;

private:
  bool isHint(const Stmt *S);
  bool isPoll(const Expr *E);
  bool note(const Expr *Object, bool Tries) {
    if (!Found.Polled || Tries)
      Found.Polled = Object;
    Found.Tries |= Tries;
    Found.Atomic = true;
    return true;
  }

  const ASTContext &Context;
};

/// Returns the name of the function or member that is called; in a template it
/// may depend on an argument.
StringRef calleeName(const CallExpr &Call) {
  const Expr *Callee = Call.getCallee()->IgnoreParenImpCasts();
  DeclarationName Name;
  if (auto *Member = dyn_cast<CXXDependentScopeMemberExpr>(Callee))
    Name = Member->getMember();
  else if (auto *Overload = dyn_cast<OverloadExpr>(Callee))
    Name = Overload->getName();
  else if (auto *D = dyn_cast_or_null<NamedDecl>(Call.getCalleeDecl()))
    Name = D->getDeclName();
  return Name.isIdentifier() && Name.getAsIdentifierInfo()
             ? Name.getAsIdentifierInfo()->getName()
             : StringRef();
}

bool FormMatcher::isHint(const Stmt *S) {
  CallEffect Effect = CallEffect::Other;
  if (auto *Asm = dyn_cast<GCCAsmStmt>(S)) {
    Effect = classifyAsm(*Asm);
  } else if (auto *E = dyn_cast<Expr>(S)) {
    auto *Call = dyn_cast<CallExpr>(E->IgnoreParenCasts());
    if (!Call)
      return false;
    if (const FunctionDecl *Callee = Call->getDirectCallee())
      Effect = classifyCall(*Call, *Callee);
    if (Effect == CallEffect::Other)
      switch (whatNameTells(calleeName(*Call))) {
      case NameTells::Pauses:
        Effect = CallEffect::Pause;
        break;
      case NameTells::Delays:
        Effect = CallEffect::Sleep;
        break;
      default:
        break;
      }
  }
  Found.Pauses |= Effect == CallEffect::Pause;
  Found.Yields |= Effect == CallEffect::Yield;
  Found.Sleeps |= Effect == CallEffect::Sleep;
  return vfriendly::isHint(Effect);
}

bool FormMatcher::onlyHints(const Stmt *S) {
  if (isa<NullStmt>(S))
    return true;
  if (auto *Block = dyn_cast<CompoundStmt>(S))
    return llvm::all_of(Block->body(),
                        [&](const Stmt *Child) { return onlyHints(Child); });
  return isHint(S);
}

bool isConstant(const Expr *E, const ASTContext &Context) {
  return E && (E->isValueDependent() || E->isEvaluatable(Context));
}

/// Returns true if E reads memory that other threads may write, or tries to
/// change it from one constant to another.
bool FormMatcher::isPoll(const Expr *E) {
  if (std::optional<AtomicOp> Op = matchAtomicOp(E)) {
    switch (Op->Kind) {
    case AtomicKind::Load:
      return note(Op->Object, false);
    case AtomicKind::Exchange:
      return (!Op->Value || isConstant(Op->Value, Context)) &&
             note(Op->Object, true);
    case AtomicKind::CompareExchange:
      return isConstant(Op->Expected, Context) && note(Op->Object, true);
    default:
      return false;
    }
  }
  if (auto *Call = dyn_cast<CallExpr>(E)) {
    if (!Call->isTypeDependent() && !Call->isInstantiationDependent())
      return false;
    StringRef Name = calleeName(*Call);
    bool Tries = Name == "test_and_set" ||
                 (Name == "exchange" && Call->getNumArgs() > 0 &&
                  isConstant(Call->getArg(0), Context));
    auto *Member = dyn_cast<CXXDependentScopeMemberExpr>(
        Call->getCallee()->IgnoreParenImpCasts());
    return Member && !Member->isImplicitAccess() &&
           (Tries || Name == "load" || Name == "test") &&
           note(Member->getBase(), Tries);
  }
  return false;
}

bool FormMatcher::onlyPolls(const Expr *E) {
  E = E->IgnoreParens();
  if (isPoll(E))
    return true;
  if (auto *Cast = dyn_cast<CastExpr>(E)) {
    const Expr *Of = Cast->getSubExpr();
    if (Cast->getCastKind() == CK_LValueToRValue && !Found.Polled &&
        (Of->getType().isVolatileQualified() || isAtomicType(Of->getType()))) {
      Found.Polled = Of;
      Found.Atomic = isAtomicType(Of->getType());
    }
    return onlyPolls(Of);
  }
  if (auto *Op = dyn_cast<UnaryOperator>(E))
    return !Op->isIncrementDecrementOp() && onlyPolls(Op->getSubExpr());
  if (auto *Op = dyn_cast<BinaryOperator>(E))
    return !Op->isCompoundAssignmentOp() && Op->getOpcode() != BO_Comma &&
           (Op->getOpcode() == BO_Assign || onlyPolls(Op->getLHS())) &&
           onlyPolls(Op->getRHS());
  if (auto *Member = dyn_cast<MemberExpr>(E))
    return onlyPolls(Member->getBase());
  if (auto *Member = dyn_cast<CXXDependentScopeMemberExpr>(E))
    return Member->isImplicitAccess() || onlyPolls(Member->getBase());
  if (auto *Construct = dyn_cast<CXXUnresolvedConstructExpr>(E))
    return Construct->getNumArgs() == 0;
  return isa<DeclRefExpr, CXXThisExpr, IntegerLiteral, CXXBoolLiteralExpr,
             CXXNullPtrLiteralExpr, CharacterLiteral>(E);
}

} // namespace

std::optional<TextualWait> matchTextualWait(const LoopShape &Shape,
                                            const ASTContext &Context) {
  if (Shape.backJump() || !Shape.Condition || Shape.Increment)
    return std::nullopt;
  FormMatcher Matcher(Context);
  if (!Matcher.onlyHints(Shape.Body.front()) ||
      !Matcher.onlyPolls(Shape.Condition) || !Matcher.Found.Polled)
    return std::nullopt;
  return Matcher.Found;
}

} // namespace vfriendly::tidy
