//===- TuUses.cpp - Uses of a variable in one unit ------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/TuUses.h"

#include "checkers/common/AtomicOps.h"
#include "checkers/common/EachNode.h"
#include "checkers/common/SourceText.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

namespace {

class UseVisitor : public EachNode {
  using Map = llvm::DenseMap<const ValueDecl *, DeclUses>;

public:
  UseVisitor(Map &Found, const ASTContext &Context)
      : Found(Found), Context(Context) {}

  bool StrictSeccomp = false;

private:
  bool visit(Stmt &S) override {
    if (auto *Ref = dyn_cast<DeclRefExpr>(&S)) {
      if (auto *Variable = dyn_cast<VarDecl>(Ref->getDecl()))
        note(*Variable, *Ref);
    } else if (auto *Member = dyn_cast<MemberExpr>(&S)) {
      if (isa<FieldDecl, VarDecl>(Member->getMemberDecl()))
        note(*Member->getMemberDecl(), *Member);
    } else if (auto *Call = dyn_cast<CallExpr>(&S)) {
      StrictSeccomp |= entersStrictSeccomp(*Call);
    }
    return true;
  }

  /// Returns true for prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT).
  bool entersStrictSeccomp(const CallExpr &Call) const {
    const FunctionDecl *Callee = Call.getDirectCallee();
    auto Is = [&](unsigned Argument, int64_t Value) {
      Expr::EvalResult Result;
      const Expr *E = Call.getArg(Argument);
      return !E->isValueDependent() && E->EvaluateAsInt(Result, Context) &&
             Result.Val.getInt() == Value;
    };
    return Callee && Callee->getIdentifier() && Callee->getName() == "prctl" &&
           Call.getNumArgs() >= 2 && Is(0, /*PR_SET_SECCOMP=*/22) &&
           Is(1, /*strict=*/1);
  }

  void note(const ValueDecl &D, const Expr &LValue) {
    DeclUses &Uses = Found[cast<ValueDecl>(D.getCanonicalDecl())];
    size_t I = Around.size() - 1; // The expression itself.
    const Expr *Child = &LValue;
    auto Outer = [&]() -> const Stmt * {
      return I == 0 ? nullptr : Around[I - 1];
    };
    auto Climb = [&] { Child = cast<Expr>(Around[--I]); };

    while (Outer() && isTransparent(Outer()))
      Climb();
    const Stmt *Parent = Outer();
    if (!Parent || isa<UnaryExprOrTypeTraitExpr>(Parent) ||
        isa<LambdaExpr>(Parent) || isRead(Parent))
      return;
    if (auto *Member = dyn_cast<MemberExpr>(Parent)) {
      // Ignores s in `s.flag`, which is a use of flag and not of s. In
      // `x.load()` the member is a function, perhaps an atomic operation on x.
      if (isa<FieldDecl, VarDecl>(Member->getMemberDecl()))
        return;
      Climb();
      return noteAtomic(Uses, LValue, I);
    }
    if (isAssignmentTo(Parent, Child))
      return noteWrite(Uses, cast<Expr>(*Parent), LValue, I - 1);
    if (auto *Address = dyn_cast<UnaryOperator>(Parent);
        Address && Address->getOpcode() == UO_AddrOf) {
      Climb();
      while (Outer() && isTransparent(Outer()))
        Climb();
    }
    noteAtomic(Uses, LValue, I);
  }

  /// Records the use of LValue by an atomic operation. pre: Around[I - 1] is
  /// the call or builtin that LValue, or its address, is an operand of.
  void noteAtomic(DeclUses &Uses, const Expr &LValue, size_t I) {
    auto *Operation = I == 0 ? nullptr : dyn_cast<Expr>(Around[I - 1]);
    std::optional<AtomicOp> Op =
        Operation ? matchAtomicOp(Operation) : std::nullopt;
    const Expr *Object =
        Op && Op->Object ? Op->Object->IgnoreParenCasts() : nullptr;
    if (auto *Address = dyn_cast_or_null<UnaryOperator>(Object))
      Object = Address->getSubExpr()->IgnoreParenCasts();
    if (!Op || Object != &LValue) {
      if (!isRuntimeCall(Operation))
        Uses.Escapes = true;
      return;
    }
    if (Op->Kind == AtomicKind::Load)
      return;
    if (Op->Kind == AtomicKind::Other) {
      // std::atomic's wait and notify neither write the object nor let its
      // address escape.
      return;
    }
    noteWrite(Uses, *Operation, LValue, I - 1);
  }

  /// pre: Around[I] is the write.
  void noteWrite(DeclUses &Uses, const Expr &Access, const Expr &LValue,
                 size_t I) {
    WriteSite Site{&Access, &LValue, nullptr, false, nullptr};
    const Stmt *Whole = Around[I];
    while (I > 0 && (isa<ExprWithCleanups>(Around[I - 1]) ||
                     isTransparent(Around[I - 1])))
      Whole = Around[--I];
    const Stmt *Parent = I == 0 ? nullptr : Around[I - 1];
    if (auto *Block = dyn_cast_or_null<CompoundStmt>(Parent)) {
      Site.Statement = Whole;
      Site.InBlock = true;
      auto *At = llvm::find(Block->body(), Whole);
      if (At != Block->body_end() && At + 1 != Block->body_end())
        Site.Next = At[1];
    } else if (auto *If = dyn_cast_or_null<IfStmt>(Parent);
               If && (If->getThen() == Whole || If->getElse() == Whole)) {
      Site.Statement = Whole;
    }
    Uses.Writes.push_back(Site);
  }

  static bool isTransparent(const Stmt *S) {
    if (isa<ParenExpr>(S))
      return true;
    auto *Cast = dyn_cast<CastExpr>(S);
    return Cast && Cast->getCastKind() != CK_LValueToRValue &&
           Cast->getCastKind() != CK_AtomicToNonAtomic &&
           Cast->getCastKind() != CK_ArrayToPointerDecay;
  }

  static bool isRead(const Stmt *S) {
    auto *Cast = dyn_cast<CastExpr>(S);
    return Cast && (Cast->getCastKind() == CK_LValueToRValue ||
                    Cast->getCastKind() == CK_AtomicToNonAtomic);
  }

  static bool isAssignmentTo(const Stmt *Parent, const Expr *Child) {
    if (auto *Assign = dyn_cast<BinaryOperator>(Parent))
      return Assign->isAssignmentOp() && Assign->getLHS() == Child;
    auto *Step = dyn_cast<UnaryOperator>(Parent);
    return Step && Step->isIncrementDecrementOp();
  }

  /// Returns true for calls of the runtime's functions, such as vf_spin_wait
  /// and vf_spin_notify. The address that is passed to them does not escape:
  /// these functions use it only to match waiters with notifies, and do not
  /// write to it.
  static bool isRuntimeCall(const Expr *E) {
    auto *Call = dyn_cast_or_null<CallExpr>(E);
    const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
    return Callee && Callee->getIdentifier() &&
           Callee->getName().starts_with("vf_spin_");
  }

  Map &Found;
  const ASTContext &Context;
};

} // namespace

void TuUses::scan(const ASTContext &Context) {
  Scanned = true;
  UseVisitor Visitor(Found, Context);
  const SourceManager &SM = Context.getSourceManager();
  for (Decl *D : Context.getTranslationUnitDecl()->decls())
    if (!SM.isInSystemHeader(SM.getExpansionLoc(D->getLocation())))
      Visitor.traverse(*D);
  StrictSeccomp = Visitor.StrictSeccomp;
}

bool TuUses::entersStrictSeccomp(const ASTContext &Context) {
  if (!Scanned && mentions(Context, {"prctl"}))
    scan(Context);
  return StrictSeccomp;
}

static bool staysInFile(const ValueDecl &D, const SourceManager &SM) {
  if (auto *Variable = dyn_cast<VarDecl>(&D))
    return Variable->isLocalVarDecl() ||
           Variable->getFormalLinkage() == Linkage::Internal;
  auto *Field = dyn_cast<FieldDecl>(&D);
  // References to members of a template are resolved only in its instances.
  return Field && !Field->getParent()->isDependentContext() &&
         SM.isInMainFile(SM.getExpansionLoc(Field->getLocation()));
}

const DeclUses *TuUses::find(const ValueDecl &D, const ASTContext &Context) {
  if (!staysInFile(D, Context.getSourceManager()))
    return nullptr;
  if (!Scanned)
    scan(Context);
  auto Known = Found.find(cast<ValueDecl>(D.getCanonicalDecl()));
  if (Known == Found.end() || Known->second.Escapes)
    return nullptr;
  return &Known->second;
}

} // namespace vfriendly::tidy
