//===- ThreadElement.cpp - Array elements used by one thread --------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/ThreadElement.h"

#include "checkers/common/Loops.h"
#include "checkers/common/SourceText.h"
#include "checkers/common/WaitNeutral.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Maximum number of variables that the address passes on its way to the write,
/// such as the parameter `arg`, a pointer cast from `arg`, and a reference.
static constexpr unsigned MaxDepth = 4;

static const Expr *subscriptOf(const CXXOperatorCallExpr &Call,
                               bool &IsInPlace) {
  if (Call.getOperator() != OO_Subscript || Call.getNumArgs() != 2)
    return nullptr;
  const CXXRecordDecl *Class = Call.getArg(0)->getType()->getAsCXXRecordDecl();
  if (!Class)
    return nullptr;
  // A vector of the program's own, or of another library.
  if (!isOfStd(*Class))
    return Call.isLValue() && Call.getType()->isArithmeticType() &&
                   Call.getArg(1)->getType()->isIntegerType()
               ? Call.getArg(1)
               : nullptr;
  IsInPlace = identifierOf(Class) == "array";
  return IsInPlace || identifierOf(Class) == "vector" ? Call.getArg(1)
                                                      : nullptr;
}

/// Returns where Index comes from if it is the number of the thread. In a
/// lambda that a loop starts as a thread, Index may also be a captured copy of
/// the loop's counter.
const Expr *ThreadElements::threadNumber(const Site &Index, bool Started) {
  NumberOrigin From = Origins.of(Index);
  if (From.IsScaled)
    return nullptr;
  const Expr *Number = From.At.E ? From.At.E : Index.E;
  if (From.Kind == Origin::Thread)
    return Number;
  if (From.Kind != Origin::Counter)
    return nullptr;
  if (Started)
    return innermostLoop(Index.Parents) ? Number : nullptr;
  const Stmt *Lambda = nullptr;
  for (const Stmt *S : llvm::reverse(Index.Parents)) {
    if (isa<LambdaExpr>(S))
      Lambda = S;
    if (Lambda && isLoop(S))
      return llvm::any_of(Values.threadStarts(),
                          [&](const Site &Start) {
                            return Start.In == Index.In &&
                                   llvm::is_contained(Start.Parents, S) &&
                                   llvm::is_contained(Index.Parents, Start.E);
                          })
                 ? Number
                 : nullptr;
    if (!Lambda && isLoop(S) && From.Counter &&
        llvm::any_of(Values.valuesOf(*From.Counter), [&](const GivenValue *V) {
          return llvm::is_contained(V->At.Parents, S);
        }))
      return nullptr; // The counter of a loop that the thread executes.
  }
  return nullptr;
}

std::optional<ThreadElement> ThreadElements::ofLValue(const Site &LValue,
                                                      Way By) {
  Site At = LValue;
  for (;;) {
    At.E = stripped(At.E);
    if (!At.E)
      return std::nullopt;
    const Expr *Base = nullptr, *Index = nullptr;
    bool IsInPlace = false;
    if (auto *Element = dyn_cast<ArraySubscriptExpr>(At.E)) {
      Base = Element->getBase();
      Index = Element->getIdx();
      IsInPlace = stripped(Base)->getType()->isArrayType();
    } else if (auto *Call = dyn_cast<CXXOperatorCallExpr>(At.E)) {
      Base = Call->getNumArgs() ? Call->getArg(0) : nullptr;
      Index = subscriptOf(*Call, IsInPlace);
    } else if (auto *Member = dyn_cast<MemberExpr>(At.E)) {
      At.E = Member->getBase();
      if (Member->isArrow())
        return ofPointer(At, By);
      continue;
    } else if (auto *Unary = dyn_cast<UnaryOperator>(At.E);
               Unary && Unary->getOpcode() == UO_Deref) {
      At.E = Unary->getSubExpr();
      return ofPointer(At, By);
    } else if (auto *Ref = dyn_cast<DeclRefExpr>(At.E)) {
      auto *Variable = dyn_cast<VarDecl>(Ref->getDecl());
      if (!Variable || !Variable->getType()->isReferenceType() ||
          !Variable->getInit() || By.Depth == MaxDepth)
        return std::nullopt;
      At.E = Variable->getInit();
      return ofLValue(At, {By.Depth + 1, By.Started});
    }
    if (!Index)
      return std::nullopt;
    Site Number = At;
    Number.E = Index;
    if (const Expr *From = threadNumber(Number, By.Started))
      if (const ValueDecl *Array = rootOf(Base))
        return ThreadElement{Array, At.E->getType(), From};
    if (!IsInPlace)
      return std::nullopt;
    At.E = Base;
  }
}

std::optional<ThreadElement> ThreadElements::ofPointer(const Site &Pointer,
                                                       Way By) {
  Site At = Pointer;
  At.E = stripped(At.E);
  if (auto *Address = dyn_cast_or_null<UnaryOperator>(At.E);
      Address && Address->getOpcode() == UO_AddrOf) {
    At.E = Address->getSubExpr();
    return ofLValue(At, By);
  }
  if (auto *Offset = dyn_cast_or_null<BinaryOperator>(At.E);
      Offset && Offset->getOpcode() == BO_Add) {
    Site Number = At;
    Number.E = Offset->getRHS();
    const ValueDecl *Array = rootOf(Offset->getLHS());
    if (Array && Offset->getType()->isPointerType())
      if (const Expr *From = threadNumber(Number, By.Started))
        return ThreadElement{Array, Offset->getType()->getPointeeType(), From};
    return std::nullopt;
  }
  auto *Ref = dyn_cast_or_null<DeclRefExpr>(At.E);
  if (!Ref || By.Depth == MaxDepth)
    return std::nullopt;
  UnitValues::ValueRefs Given = Values.valuesOf(*Ref->getDecl());
  // Accepts a variable that has a single value, and a parameter of a thread's
  // function, to which several calls that start threads may pass values.
  bool IsStart = llvm::all_of(
      Given, [](const GivenValue *Value) { return Value->StartsThread; });
  if (Given.empty() || Given.front()->Kind != GivenValue::Assigned ||
      (Given.size() > 1 && !IsStart))
    return std::nullopt;
  return ofPointer(Given.front()->At, {By.Depth + 1, By.Started || IsStart});
}

std::optional<ThreadElement> ThreadElements::of(const Site &Written) {
  return ofLValue(Written, {});
}

} // namespace vfriendly::tidy
