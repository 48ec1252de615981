//===- Causes.cpp - What an exit of a loop depends on ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/Causes.h"

#include "checkers/spin-loops/TestsOfCalls.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

using namespace clang;

namespace vfriendly::tidy {

void Causes::add(const Causes &C) {
  Polls.append(C.Polls.begin(), C.Polls.end());
  Own |= C.Own;
  Clock |= C.Clock;
  Walks |= C.Walks;
  AtOnce |= C.AtOnce;
  Device |= C.Device;
}

static Causes own() {
  Causes C;
  C.Own = true;
  return C;
}

bool CauseFinder::mayBeShared(const VarDecl &Variable) {
  return Facts.Functions.Escaping.of(Facts.root()->Function->getBody())
      .contains(&Variable);
}

Causes CauseFinder::ofChildren(const Stmt *S, const Frame *In) {
  Causes All;
  for (const Stmt *Child : S->children())
    if (auto *E = dyn_cast_or_null<Expr>(Child))
      All.add(causesOf(E, In));
  return All;
}

/// Returns the causes of the address of LValue, the object that is read.
/// Computing an address reads no polled object, so LValue itself is no poll.
Causes CauseFinder::ofAddress(const Expr *LValue, const Frame *In) {
  const Expr *E = LValue->IgnoreParens();
  if (auto *Cast = dyn_cast<CastExpr>(E)) {
    if (Cast->getCastKind() == CK_LValueToRValue ||
        !Cast->getSubExpr()->isGLValue())
      return causesOf(E, In);
    return ofAddress(Cast->getSubExpr(), In);
  }
  if (auto *Ref = dyn_cast<DeclRefExpr>(E)) {
    auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
    if (!Variable || !Variable->getType()->isReferenceType())
      return {};
    const Frame *Owner = frameOf(*Variable, In);
    if (auto *Parm = dyn_cast<ParmVarDecl>(Variable); Parm && Owner) {
      const Expr *Argument = Owner->Arguments.lookup(Parm);
      return Argument ? ofAddress(Argument, Owner->Caller) : Causes();
    }
    // Follows the initializer of a reference that is bound in the loop: the
    // reference may be bound to another object in each iteration.
    const Expr *Init = Variable->getInit();
    const SourceManager &SM = Facts.Context.getSourceManager();
    bool BoundOnce =
        Owner == Facts.root() &&
        SM.isBeforeInTranslationUnit(Variable->getLocation(), Facts.Begin);
    if (Init && Owner && Init->isGLValue() && !BoundOnce)
      return ofAddress(Init, Owner);
    return {};
  }
  if (auto *Member = dyn_cast<MemberExpr>(E)) {
    if (isa<VarDecl>(Member->getMemberDecl()))
      return {};
    return Member->isArrow() ? causesOf(Member->getBase(), In)
                             : ofAddress(Member->getBase(), In);
  }
  if (auto *Subscript = dyn_cast<ArraySubscriptExpr>(E)) {
    Causes C = causesOf(Subscript->getBase(), In);
    C.add(causesOf(Subscript->getIdx(), In));
    return C;
  }
  if (auto *Op = dyn_cast<UnaryOperator>(E)) {
    if (Op->getOpcode() == UO_Deref)
      return causesOf(Op->getSubExpr(), In);
    return own();
  }
  if (isa<CXXThisExpr>(E) && In->Object)
    return In->Object->isGLValue() ? ofAddress(In->Object, In->Caller)
                                   : causesOf(In->Object, In->Caller);
  return ofChildren(E, In);
}

static void splitBoth(const Expr *E, const Frame *In, bool Holds,
                      Guards &Parts) {
  const Expr *Bare = E->IgnoreParenImpCasts();
  if (auto *Not = dyn_cast<UnaryOperator>(Bare);
      Not && Not->getOpcode() == UO_LNot)
    return splitBoth(Not->getSubExpr(), In, !Holds, Parts);
  auto *Op = dyn_cast<BinaryOperator>(Bare);
  if (!Op || !Op->isLogicalOp() || (Op->getOpcode() == BO_LAnd) != Holds) {
    Parts.push_back({E, In, Holds});
    return;
  }
  splitBoth(Op->getLHS(), In, Holds, Parts);
  splitBoth(Op->getRHS(), In, Holds, Parts);
}

/// Returns the causes of a conjunction of conditions. If one of them depends on
/// other threads alone, so does the conjunction, and only the causes of that
/// condition are returned.
Causes CauseFinder::ofGuards(const Guards &Under) {
  Guards Parts;
  for (const Guard &G : Under)
    splitBoth(G.Condition, G.In, G.Holds, Parts);
  Causes All;
  for (const Guard &G : Parts) {
    Causes One = causesOf(G.Condition, G.In);
    if (One.onlyOthers())
      return One;
    All.add(One);
  }
  return All;
}

Causes CauseFinder::ofVariable(const Expr *Access, const Place &P) {
  const VarDecl &Variable = *P.Variable;
  auto Written = Facts.Writes.find({&Variable, P.In});
  if (Written == Facts.Writes.end()) {
    if (auto *Parm = dyn_cast<ParmVarDecl>(&Variable); Parm && P.In)
      if (const Expr *Argument = P.In->Arguments.lookup(Parm))
        return causesOf(Argument, P.In->Caller);
    if (P.In != Facts.root() || Variable.getType().isConstQualified() ||
        !mayBeShared(Variable))
      return {};
    Causes C;
    Poll Found;
    Found.Access = Access;
    Found.In = P.In;
    Found.At = P;
    Found.Type = P.LValue->getType();
    Found.Volatile = Found.Type.isVolatileQualified();
    Found.Atomic = isAtomicType(Found.Type);
    C.Polls.push_back(Found);
    return C;
  }

  if (!Open.insert(&Written->second).second)
    return own();
  const SourceManager &SM = Facts.Context.getSourceManager();
  bool Lasts = P.In == Facts.root() && SM.isBeforeInTranslationUnit(
                                           Variable.getLocation(), Facts.Begin);
  bool StartsAnew =
      Rescans && (!Lasts || llvm::any_of(Written->second, [](const Write &W) {
        return W.EachIteration;
      }));
  Lasting += Lasts;
  Causes C;
  if (auto *Parm = dyn_cast<ParmVarDecl>(&Variable); Parm && P.In)
    if (const Expr *Argument = P.In->Arguments.lookup(Parm))
      C.add(causesOf(Argument, P.In->Caller));
  // If the loop assigns to the variable only values that the loop does not
  // change, the variable is constant from the second iteration on. A test of it
  // then ends the loop in the second iteration or never.
  bool ChangesOnce = Lasts;
  for (const Write &W : Written->second) {
    ChangesOnce &= W.From == Write::Value;
    switch (W.From) {
    case Write::Itself:
      if (StartsAnew && W.Assigned)
        C.add(causesOf(W.Assigned, W.In));
      C.Own |= !StartsAnew;
      continue;
    case Write::Clock:
      C.Clock = true;
      continue;
    case Write::ReadModifyWrite:
      C.add(causesOf(Facts.Rmws[W.RmwIndex]));
      continue;
    case Write::Observed: {
      Causes Seen = causesOf(Facts.Rmws[W.RmwIndex]);
      Seen.AtOnce = false;
      C.add(Seen);
      continue;
    }
    case Write::Value:
      break;
    }
    Causes Value = causesOf(W.Assigned, W.In);
    ChangesOnce &= W.EachIteration && Value.none();
    // If the assigned value is a constant, as in `done = true`, the guards of
    // the write are the causes.
    C.add(Value.none() ? ofGuards(W.Under) : Value);
  }
  C.Own |= ChangesOnce;
  Lasting -= Lasts;
  Open.erase(&Written->second);
  return C;
}

/// Returns the causes of an access, to shared memory or to a local object.
Causes CauseFinder::ofAccess(const Expr *Access, const Expr *Object,
                             bool IsPointer, const Frame *In, bool IsMemory) {
  Place P = IsPointer ? pointeeOf(Object, In) : placeOf(Object, In);
  Causes Address = IsPointer || !Object->isGLValue() ? causesOf(Object, In)
                                                     : ofAddress(Object, In);
  Causes C;
  if (IsPointer && !Object->getType()->isPointerType())
    return own(); // The pointer's type depends on a template argument.
  // IsMemory is set for an atomic operation. A pointer made from an integer or
  // from void * is then not taken for the address of a device register:
  // programs do not use atomic operations on registers, but some pass locks as
  // void * or keep addresses as integers.
  if (Address.Device ||
      (!IsMemory && (P.Where == Place::Device || P.Untyped))) {
    C.Device = true;
    return C;
  }
  if (P.Where == Place::Device)
    P = {Place::Elsewhere, nullptr, In, Object};
  if (P.Where == Place::ThreadLocal || (!IsPointer && isErrno(*Object)))
    return own();
  if (Address.Own || Address.Walks || Address.Clock || Address.AtOnce) {
    C.Walks = true;
    return C;
  }
  if (P.Where == Place::Local && !isAtomicRef(Object->getType()))
    return P.Variable ? ofVariable(Access, P) : ofChildren(Object, In);

  Poll Found;
  Found.Access = Access;
  Found.In = In;
  Found.At = P;
  Found.Type =
      IsPointer ? Object->getType()->getPointeeType() : Object->getType();
  Found.Volatile = Found.Type.isVolatileQualified();
  Found.Atomic = isAtomicType(Found.Type);
  C.Polls.push_back(Found);
  return C;
}

Causes CauseFinder::ofRead(const Expr *Access, const Expr *LValue,
                           const Frame *In) {
  const Expr *E = LValue->IgnoreParens();
  if (auto *Op = dyn_cast<BinaryOperator>(E)) {
    if (Op->isCompoundAssignmentOp())
      return own();
    if (Op->getOpcode() == BO_Assign)
      return causesOf(Op->getRHS(), In);
    if (Op->getOpcode() == BO_Comma)
      return ofRead(Access, Op->getRHS(), In);
  }
  if (auto *Op = dyn_cast<UnaryOperator>(E); Op && Op->isIncrementDecrementOp())
    return own();
  if (isa<ConditionalOperator>(E))
    return ofChildren(E, In);
  if (E->getType().isConstQualified() && !E->getType().isVolatileQualified())
    if (Place P = placeOf(E, In); P.Variable && P.Where == Place::Elsewhere)
      return {}; // A constant.
  return ofAccess(Access, LValue, false, In);
}

Causes CauseFinder::ofAtomic(const Expr *E, const AtomicOp &Op,
                             const Frame *In) {
  if (Op.Kind == AtomicKind::Load) {
    QualType Type = Op.Object->IgnoreImpCasts()->getType();
    if (Op.ObjectIsPointer)
      Type = Type->getPointeeType();
    bool IsMemory = Type.isNull() || !Type.isVolatileQualified();
    Causes C = ofAccess(E, Op.Object, Op.ObjectIsPointer, In, IsMemory);
    for (Poll &P : C.Polls)
      P.Atomic = true;
    return C;
  }
  for (const Rmw &R : Facts.Rmws)
    if (R.Site == E && R.In == In)
      return causesOf(R);
  return own();
}

Causes CauseFinder::ofCall(const CallExpr &Call, const Frame *In) {
  if (Facts.Unseen.contains({&Call, In}))
    return ofUnseen(Call, In);
  const FunctionDecl *Callee = Call.getDirectCallee();
  if (!Callee)
    return own();
  if (const Frame *Inner = Facts.Calls.lookup({&Call, In})) {
    Causes C;
    for (const Expr *Result : Inner->Results)
      C.add(causesOf(Result, Inner));
    for (const Expr *Condition : Inner->Conditions)
      C.add(causesOf(Condition, Inner));
    return C;
  }
  Causes C;
  switch (classifyCall(Call, *Callee)) {
  case CallEffect::Clock:
    C.Clock = true;
    return C;
  case CallEffect::TryLock: {
    Poll Found;
    Found.Access = &Call;
    Found.In = In;
    Found.TryLock = Callee;
    C.Polls.push_back(Found);
    return C;
  }
  case CallEffect::None:
    return ofChildren(&Call, In);
  default:
    return own();
  }
}

/// Returns true for an unchanged version number, `seq == before`, which ends a
/// reader's loop without another thread.
Causes CauseFinder::ofComparison(const BinaryOperator &Op, const Frame *In) {
  Causes Left = causesOf(Op.getLHS(), In), Right = causesOf(Op.getRHS(), In);
  bool Unchanged = false;
  for (const Poll &L : Left.Polls)
    for (const Poll &R : Right.Polls)
      Unchanged |=
          L.Access != R.Access && isSamePlace(L.At, R.At, Facts.Context);
  Left.add(Right);
  Left.AtOnce |= Unchanged;
  return Left;
}

Causes CauseFinder::causesOf(const Expr *E, const Frame *In) {
  if (!E || !In)
    return {};
  if (Budget == 0)
    return own();
  --Budget;
  E = E->IgnoreParens();

  if (std::optional<AtomicOp> Op = matchAtomicOp(E))
    return ofAtomic(E, *Op, In);
  if (auto *Call = dyn_cast<CallExpr>(E))
    return ofCall(*Call, In);
  if (auto *Cast = dyn_cast<CastExpr>(E)) {
    if (Cast->getCastKind() == CK_LValueToRValue)
      return ofRead(E, Cast->getSubExpr(), In);
    if (Cast->getCastKind() == CK_ArrayToPointerDecay)
      return ofAddress(Cast->getSubExpr(), In);
    return causesOf(Cast->getSubExpr(), In);
  }
  if (auto *Op = dyn_cast<UnaryOperator>(E)) {
    if (Op->getOpcode() == UO_AddrOf)
      return ofAddress(Op->getSubExpr(), In);
    if (Op->isIncrementDecrementOp())
      return own();
    if (Op->getOpcode() == UO_Deref)
      return ofAccess(E, E, false, In);
    return causesOf(Op->getSubExpr(), In);
  }
  if (auto *Op = dyn_cast<BinaryOperator>(E)) {
    if (Op->isCompoundAssignmentOp())
      return own();
    if (Op->getOpcode() == BO_Assign || Op->getOpcode() == BO_Comma)
      return causesOf(Op->getRHS(), In);
    if (Op->isEqualityOp())
      return ofComparison(*Op, In);
    return ofChildren(E, In);
  }
  if (auto *Statements = dyn_cast<StmtExpr>(E)) {
    const CompoundStmt *Body = Statements->getSubStmt();
    auto *Last =
        Body->body_empty() ? nullptr : dyn_cast<Expr>(Body->body_back());
    return Last ? causesOf(Last, In) : Causes();
  }
  if (isa<CXXThisExpr>(E)) {
    if (!In->Object)
      return {};
    return In->Object->isGLValue() ? ofAddress(In->Object, In->Caller)
                                   : causesOf(In->Object, In->Caller);
  }
  if (isa<UnaryExprOrTypeTraitExpr>(E))
    return {};
  if (auto *Default = dyn_cast<CXXDefaultArgExpr>(E))
    return causesOf(Default->getExpr(), In);
  // Handles a variable, member or element that is named but not read here.
  if (E->isGLValue() && isa<DeclRefExpr, MemberExpr, ArraySubscriptExpr>(E))
    return E->getType()->isFunctionType() ? Causes()
                                          : ofAccess(E, E, false, In);
  return ofChildren(E, In);
}

} // namespace vfriendly::tidy
