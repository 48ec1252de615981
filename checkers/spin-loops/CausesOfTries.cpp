//===- CausesOfTries.cpp - Causes of attempts and opaque calls ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/spin-loops/Causes.h"

#include "passes/common/TellingNames.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

static Causes ownProgress() {
  Causes C;
  C.Own = true;
  return C;
}

/// Returns true if Argument is a local object that a call may use for its
/// result. A loop with such a call takes something, and does not only wait.
/// Excludes structures whose address is passed, because other threads may share
/// them through that address.
static bool isPlaceForResult(const Expr *Argument, const Frame *In) {
  if (Argument->isGLValue())
    return !Argument->getType().isConstQualified() &&
           placeOf(Argument, In).Where == Place::Local;
  auto *Address = dyn_cast<UnaryOperator>(Argument->IgnoreParenImpCasts());
  return Address && Address->getOpcode() == UO_AddrOf &&
         Address->getSubExpr()->getType()->isScalarType() &&
         placeOf(Address->getSubExpr(), In).Where == Place::Local;
}

/// Returns the causes of the result of Call, whose callee is opaque. Call is a
/// poll, unless its arguments may change its result: an argument that changes
/// from iteration to iteration, or a local object that the callee may modify.
Causes CauseFinder::ofUnseen(const CallExpr &Call, const Frame *In) {
  auto *Callee = dyn_cast_or_null<NamedDecl>(Call.getCalleeDecl());
  Causes Given;
  if (Callee && Callee->getIdentifier() &&
      whatNameTells(Callee->getName()) == NameTells::ReadsClock) {
    Given.Clock = true;
    return Given;
  }
  for (const Expr *Argument : Call.arguments()) {
    if (isPlaceForResult(Argument, In))
      return ownProgress();
    Given.add(causesOf(Argument, In));
  }
  if (auto *Member = dyn_cast<CXXMemberCallExpr>(&Call)) {
    const Expr *Object = Member->getImplicitObjectArgument();
    bool IsPointer = Object->getType()->isPointerType();
    Given.add(IsPointer ? causesOf(Object, In) : ofAddress(Object, In));
    Place P = IsPointer ? pointeeOf(Object, In) : placeOf(Object, In);
    const CXXMethodDecl *Method = Member->getMethodDecl();
    if (P.Where == Place::Local && Method && !Method->isConst())
      return ownProgress();
  }
  if (Given.Own || Given.Clock || Given.Walks || Given.AtOnce || Given.Device)
    return ownProgress();
  Causes C;
  Poll Found;
  Found.Access = &Call;
  Found.In = In;
  Found.Unseen = &Call;
  C.Polls.push_back(Found);
  return C;
}

/// Returns true for a value with some bits forced: `v & ~BUSY`, `v | FREE`.
static bool isMasked(const Expr *E, const ASTContext &Context) {
  auto *Op = dyn_cast<BinaryOperator>(E->IgnoreParenCasts());
  if (!Op || (Op->getOpcode() != BO_And && Op->getOpcode() != BO_Or))
    return false;
  auto IsConstant = [&](const Expr *Part) {
    return !Part->isValueDependent() && Part->isIntegerConstantExpr(Context);
  };
  return IsConstant(Op->getLHS()) || IsConstant(Op->getRHS());
}

/// Returns true if E reads the object of R.
static bool readsObject(const Expr *E, const Frame *In, const Rmw &R,
                        const ASTContext &Context) {
  auto PlaceIn = [](const Expr *Object, bool ByPointer, const Frame *Of) {
    return ByPointer ? pointeeOf(Object, Of) : placeOf(Object, Of);
  };
  E = E->IgnoreParenCasts();
  const Expr *Object = E;
  bool ByPointer = false;
  if (std::optional<AtomicOp> Op = matchAtomicOp(E)) {
    if (Op->Kind != AtomicKind::Load || Op->Result)
      return false;
    Object = Op->Object;
    ByPointer = Op->ObjectIsPointer;
  } else if (auto *Deref = dyn_cast<UnaryOperator>(E);
             Deref && Deref->getOpcode() == UO_Deref) {
    Object = Deref->getSubExpr();
    ByPointer = true;
  } else if (!E->isGLValue()) {
    return false;
  }
  return isSamePlace(PlaceIn(Object, ByPointer, In),
                     PlaceIn(R.Op.Object, R.Op.ObjectIsPointer, R.In), Context);
}

/// Returns the causes of the value that R, a compare-and-exchange, expects. A
/// value with some bits forced, as in `v & ~BUSY`, has no polls: the memory has
/// this value only after other threads have changed those bits.
Causes CauseFinder::ofExpectedValue(const Expr *Expected, const Frame *In,
                                    const Rmw &R) {
  Causes C = causesOf(Expected, In);
  // Maximum number of assignments to follow. Variables may be copies of each
  // other, so the number needs a limit; a few steps reach the mask.
  for (unsigned Step = 0; Step != 4; ++Step) {
    // Follows a parameter to the argument, or another variable to the only
    // value that is assigned to it.
    auto *Ref = dyn_cast<DeclRefExpr>(Expected->IgnoreParenImpCasts());
    auto *Variable = Ref ? dyn_cast<VarDecl>(Ref->getDecl()) : nullptr;
    const Frame *Owner = Variable ? frameOf(*Variable, In) : nullptr;
    if (!Owner)
      break;
    auto Written = Facts.Writes.find({Variable, Owner});
    // A variable that the loop does not write, and that is initialized with the
    // value of R's object, keeps the value that was read first. R may then
    // succeed without another thread.
    if (Written == Facts.Writes.end() && Variable->getInit() &&
        readsObject(Variable->getInit(), Owner, R, Facts.Context))
      C.AtOnce = true;
    const Expr *Value = nullptr;
    if (auto *Parm = dyn_cast<ParmVarDecl>(Variable);
        Parm && Written == Facts.Writes.end()) {
      Value = Owner->Arguments.lookup(Parm);
      In = Owner->Caller;
    } else if (Written != Facts.Writes.end() && Written->second.size() == 1 &&
               Written->second.front().From == Write::Value) {
      Value = Written->second.front().Assigned;
      In = Written->second.front().In;
    }
    if (!Value)
      break;
    Expected = Value;
  }
  if (isMasked(Expected, Facts.Context)) {
    C.Polls.clear();
    C.AtOnce = false;
  }
  return C;
}

Causes CauseFinder::ofExpected(const Rmw &R) {
  const AtomicOp &Op = R.Op;
  if (!Op.Expected)
    return {};
  if (!Op.ExpectedIsMemory)
    return ofExpectedValue(Op.Expected, R.In, R);
  Place P = Op.ExpectedIsPointer ? pointeeOf(Op.Expected, R.In)
                                 : placeOf(Op.Expected, R.In);
  auto Written = Facts.Writes.find({P.Variable, P.In});
  Causes C;
  bool Reset = false;
  if (Written != Facts.Writes.end())
    for (const Write &W : Written->second) {
      if (W.From == Write::ReadModifyWrite || W.From == Write::Observed)
        continue;
      Reset = true;
      if (W.From == Write::Value)
        C.add(ofExpectedValue(W.Assigned, W.In, R));
      else
        C.Own = true;
    }
  C.AtOnce |= !Reset; // The next attempt expects the value found now.
  return C;
}

Causes CauseFinder::causesOf(const Rmw &R) {
  for (const auto &[Other, LastingThen] : Tried)
    if (Other == &R) {
      // The value that R expects depends on the result of R itself. If a
      // variable carries this result over from the previous iteration, R
      // expects the value that R has just read.
      Causes Itself;
      Itself.AtOnce = Lasting > LastingThen;
      return Itself;
    }
  Tried.push_back({&R, Lasting});
  const AtomicOp &Op = R.Op;
  auto *Access = dyn_cast<Expr>(R.Site);
  Causes C = ofAccess(Access, Op.Object, Op.ObjectIsPointer, R.In,
                      Op.Kind != AtomicKind::Load);
  for (Poll &P : C.Polls) {
    P.Atomic = true;
    P.Access = Access;
    P.In = R.In;
    P.Tries = Op.Kind == AtomicKind::Load ? nullptr : &R;
  }
  Causes Expects = ofExpected(R);
  if (!Expects.none()) {
    C.AtOnce |= Expects.AtOnce || !Expects.Polls.empty() || Expects.Walks;
    C.Own |= Expects.Own || Expects.Clock;
  } else if (Op.Kind == AtomicKind::CompareExchange && Op.Value) {
    // Ignores the value to be stored: a compare-and-exchange that fails does
    // not store it.
  } else if (Op.Kind == AtomicKind::Modify) {
    // Ignores n in fetch_add(n). A constant n has no causes. If n varies,
    // DoubtJudge (Doubts.h) does not consider the fetch_add undone by another
    // operation, and judges the loop by this effect.
  } else if (Op.Value && Op.Kind != AtomicKind::CompareExchange) {
    C.Own |= !(Op.Result ? ofAccess(Op.Value, Op.Value, true, R.In)
                         : causesOf(Op.Value, R.In))
                  .none();
  }
  // Any input operand of the assembly may be the expected value. If it depends
  // on what the loop reads or counts, the operation may succeed without another
  // thread.
  if (Op.Kind == AtomicKind::CompareExchange)
    for (const Expr *Input : R.Inputs) {
      Causes Read = causesOf(Input, R.In);
      C.AtOnce |= Read.AtOnce || Read.Own || !Read.Polls.empty();
    }
  Tried.pop_back();
  return C;
}

} // namespace vfriendly::tidy
