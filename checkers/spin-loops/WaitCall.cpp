//===- WaitCall.cpp - Arguments of the runtime's wait ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/WaitCall.h"

#include "checkers/spin-loops/LoopEdit.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/StringExtras.h"

using namespace clang;

namespace vfriendly::tidy {

std::string WaitCall::how() const {
  std::string How = Size;
  auto AddFlag = [&](StringRef Flag) {
    How += (How.empty() ? "" : " | ") + Flag.str();
  };
  if (NoSleep)
    AddFlag("VF_SPIN_NO_SLEEP");
  if (TryLock)
    AddFlag("VF_SPIN_TRYLOCK");
  if (Notified)
    AddFlag("VF_SPIN_NOTIFIED");
  return How.empty() ? "0" : How;
}

std::string WaitCall::textWith(StringRef State) const {
  if (Address.empty())
    return "vf_spin_backoff(" + State.str() + ", " + how() + ")";
  return "vf_spin_wait(" + Address + ", " +
         (Observed.empty() ? "0" : Observed) + ", " + State.str() + ", " +
         how() + ")";
}

/// Returns true if the fix may evaluate E once more, at the end of the loop or
/// after a write: E has no effect and names the same memory there, because E
/// contains no calls and no local variable declared after the location Loop.
static bool isRepeatable(const Expr *E, SourceLocation Loop,
                         const SourceManager &SM) {
  E = E->IgnoreParenImpCasts();
  if (auto *Ref = dyn_cast<DeclRefExpr>(E)) {
    auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
    return Variable &&
           (!Variable->isLocalVarDecl() ||
            SM.isBeforeInTranslationUnit(Variable->getLocation(), Loop));
  }
  if (isa<CXXThisExpr, IntegerLiteral>(E))
    return true;
  if (auto *Member = dyn_cast<MemberExpr>(E))
    return isRepeatable(Member->getBase(), Loop, SM);
  if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E))
    return isRepeatable(Subscript->getBase(), Loop, SM) &&
           isRepeatable(Subscript->getIdx(), Loop, SM);
  if (auto *Op = dyn_cast<UnaryOperator>(E))
    return (Op->getOpcode() == UO_Deref || Op->getOpcode() == UO_AddrOf) &&
           isRepeatable(Op->getSubExpr(), Loop, SM);
  return false;
}

std::string objectText(const WrittenWait &Spin, const WrittenPoll &P,
                       bool &IsPointer) {
  const ASTContext &Context = Spin.Does.Context;
  if (!P.At.LValue || P.At.In != Spin.Does.root() ||
      !isRepeatable(P.At.LValue, Spin.Shape.Statement->getBeginLoc(),
                    Context.getSourceManager()))
    return "";
  const Expr *E = P.At.LValue;
  if (E->refersToBitField() || isAtomicRef(P.Type))
    return "";
  // The expansion of a macro's argument, such as (&flag)->_Value, has no text
  // in the file.
  IsPointer = !E->isGLValue();
  return textOf(E->IgnoreParenImpCasts(), Context);
}

static QualType valueTypeOf(QualType T) {
  T = T.getNonReferenceType();
  if (auto *Atomic = T->getAs<clang::AtomicType>())
    return Atomic->getValueType();
  if (auto *Special = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
          T->getAsCXXRecordDecl());
      Special && Special->getTemplateArgs().size() > 0 &&
      Special->getTemplateArgs()[0].getKind() == TemplateArgument::Type)
    return Special->getTemplateArgs()[0].getAsType();
  return T;
}

static std::string constantText(const Expr *E, QualType Value, bool Spelt,
                                const ASTContext &Context) {
  Expr::EvalResult Result;
  if (E->isValueDependent())
    return "";
  if (Value->isPointerType()) {
    bool Null = E->isNullPointerConstant(const_cast<ASTContext &>(Context),
                                         Expr::NPC_NeverValueDependent);
    return !Null ? "" : Spelt ? "nullptr" : "0";
  }
  if (!E->EvaluateAsInt(Result, Context) || Result.Val.getInt().isNegative())
    return "";
  if (Spelt)
    return textOf(E->IgnoreParenImpCasts(), Context);
  return llvm::toString(Result.Val.getInt(), 10);
}

/// Returns the constant value that the polled object must have for the loop not
/// to end by End; empty if there is no such constant. The loop may have other
/// exits.
static std::string heldBefore(const Exit &End, const WrittenWait &Spin,
                              const WrittenPoll &P, bool Spelt) {
  const ASTContext &Context = Spin.Does.Context;
  if (P.Tries || P.In != Spin.Does.root() || P.Type->isDependentType())
    return "";
  QualType Value = valueTypeOf(P.Type);
  if (!Value->isPointerType() && !Value->isIntegralOrEnumerationType())
    return "";

  const Expr *E = End.Condition->IgnoreParenImpCasts();
  bool LeavesWhen = End.Holds;
  while (auto *Not = dyn_cast<UnaryOperator>(E)) {
    if (Not->getOpcode() != UO_LNot)
      break;
    LeavesWhen = !LeavesWhen;
    E = Not->getSubExpr()->IgnoreParenImpCasts();
  }
  const Expr *Access = P.Access->IgnoreParenImpCasts();
  if (E == Access) {
    bool IsBool = Value->isBooleanType();
    if (LeavesWhen)
      return !Spelt                   ? "0"
             : IsBool                 ? "false"
             : Value->isPointerType() ? "nullptr"
                                      : "0";
    return !IsBool ? "" : Spelt ? "true" : "1";
  }
  auto *Compare = dyn_cast<BinaryOperator>(E);
  if (!Compare || !Compare->isEqualityOp() ||
      (Compare->getOpcode() == BO_EQ) == LeavesWhen)
    return "";
  const Expr *Left = Compare->getLHS(), *Right = Compare->getRHS();
  if (Left->IgnoreParenImpCasts() == Access)
    return constantText(Right, Value, Spelt, Context);
  if (Right->IgnoreParenImpCasts() == Access)
    return constantText(Left, Value, Spelt, Context);
  return "";
}

std::string heldValue(const WrittenWait &Spin, const WrittenPoll &P,
                      bool Spelt) {
  const auto &Exits = Spin.Does.Exits;
  return Exits.size() == 1 && Exits.front()
             ? heldBefore(*Exits.front(), Spin, P, Spelt)
             : "";
}

std::optional<SmallVector<const WriteSite *, 2>>
findWrites(const WrittenWait &Spin, const WrittenPoll &P, TuUses &Uses) {
  const ASTContext &Context = Spin.Does.Context;
  const SourceManager &SM = Context.getSourceManager();
  const Expr *E = P.At.LValue->IgnoreParenImpCasts();
  if (auto *Address = dyn_cast<UnaryOperator>(E);
      Address && Address->getOpcode() == UO_AddrOf)
    E = Address->getSubExpr()->IgnoreParenImpCasts();
  const ValueDecl *D = namedBy(E);
  if (!D)
    return std::nullopt;
  const DeclUses *All = Uses.find(*D, Context);
  if (!All)
    return std::nullopt;

  SmallVector<const WriteSite *, 2> Writes;
  for (const WriteSite &W : All->Writes) {
    bool OwnTry = llvm::any_of(
        Spin.Does.Rmws, [&](const Rmw &R) { return R.Site == W.Access; });
    if (OwnTry || llvm::is_contained(Spin.OuterTries, W.Access))
      continue;
    if (!W.Statement ||
        !SM.isInMainFile(SM.getExpansionLoc(W.Statement->getBeginLoc())) ||
        !isRepeatable(W.LValue, W.Statement->getEndLoc(), SM) ||
        textOf(W.LValue, Context).empty() ||
        endOfStatement(W.Statement, Context).isInvalid())
      return std::nullopt;
    Writes.push_back(&W);
  }
  return Writes;
}

bool isFollowedBy(const WriteSite &W, const std::string &Statement,
                  const ASTContext &Context) {
  auto *Next = dyn_cast_or_null<Expr>(W.Next);
  return Next && textOf(Next, Context) + ";" == Statement;
}

void addAfterWrite(const WriteSite &W, const std::string &Statement,
                   TuUses &Uses, const ASTContext &Context,
                   SmallVectorImpl<FixItHint> &Hints) {
  if (isFollowedBy(W, Statement, Context) ||
      !Uses.Notified.insert(W.Access).second)
    return;
  SourceLocation End = endOfStatement(W.Statement, Context);
  const SourceManager &SM = Context.getSourceManager();
  SourceLocation Begin = SM.getExpansionLoc(W.Statement->getBeginLoc());
  if (W.InBlock) {
    std::string Gap = startsLine(Begin, Context)
                          ? ("\n" + indentAt(Begin, Context)).str()
                          : " ";
    Hints.push_back(FixItHint::CreateInsertion(End, Gap + Statement));
    return;
  }
  Hints.push_back(FixItHint::CreateInsertion(Begin, "{ "));
  Hints.push_back(FixItHint::CreateInsertion(End, " " + Statement + " }"));
}

WaitCall planWait(const WrittenWait &Spin, TuUses &Uses, const Exit *End) {
  WaitCall Wait;
  Wait.NoSleep = Spin.handsOverInOrder();
  Wait.TryLock = Spin.Kind == SpinKind::TryLockCall;
  const WrittenPoll *P = Spin.uniquePoll();
  if (!P)
    return Wait;
  bool IsPointer = false;
  std::string Object = objectText(Spin, *P, IsPointer);
  if (Object.empty())
    return Wait;
  Wait.Address = IsPointer ? Object : "&" + Object;
  if (!P->Volatile) {
    Wait.Observed = End ? heldBefore(*End, Spin, *P, /*Spelt=*/false)
                        : heldValue(Spin, *P, /*Spelt=*/false);
    if (!Wait.Observed.empty())
      Wait.Size =
          IsPointer ? "sizeof(*" + Object + ")" : "sizeof(" + Object + ")";
  }
  if (auto Writes = findWrites(Spin, *P, Uses); Writes && !Writes->empty()) {
    Wait.Notified = true;
    Wait.Writes = std::move(*Writes);
  }
  return Wait;
}

} // namespace vfriendly::tidy
