//===- ZeroFill.cpp - Writes of zeros to new memory -----------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/ZeroFill.h"

#include "checkers/common/Loops.h"
#include "checkers/numa-placement/ParallelFix.h"

#include "clang/AST/ASTContext.h"
#include "clang/Basic/Builtins.h"

using namespace clang;

namespace vfriendly::tidy {

bool isZero(const Expr &E, const ASTContext &Context) {
  Expr::EvalResult Value;
  if (E.isValueDependent() || !E.EvaluateAsRValue(Value, Context))
    return false;
  return Value.Val.isInt()     ? Value.Val.getInt().isZero()
         : Value.Val.isFloat() ? Value.Val.getFloat().isPosZero()
                               : false;
}

bool isZeroFill(ArrayRef<const Stmt *> Parents, const Stmt &Loop,
                const ASTContext &Context) {
  auto *Assign = dyn_cast<BinaryOperator>(Parents.back());
  auto *For = dyn_cast<ForStmt>(&Loop);
  const Expr *From = nullptr;
  if (auto *Begin = For ? dyn_cast_or_null<DeclStmt>(For->getInit()) : nullptr;
      Begin && Begin->isSingleDecl())
    From = cast<VarDecl>(Begin->getSingleDecl())->getInit();
  else if (auto *Begin =
               For ? dyn_cast_or_null<BinaryOperator>(For->getInit()) : nullptr)
    From = Begin->getRHS();
  // With a call in it, as to read a number, the loop stays one.
  bool Calls = false;
  forEachStmt(loopBody(&Loop), [&](const Stmt *S, ArrayRef<const Stmt *>) {
    Calls |= isa<CallExpr>(S);
  });
  return From && Assign && Assign->getOpcode() == BO_Assign && !Calls &&
         isZero(*From, Context) && isZero(*Assign->getRHS(), Context);
}

bool isMallocOf(const FunctionDecl &In, const ValueDecl &Array,
                const UnitValues &Values) {
  const GivenValue *Block = nullptr;
  for (const GivenValue *Value : Values.valuesOf(Array))
    if (Value->Kind == GivenValue::Assigned && isNewBlock(Value->At.E)) {
      if (Block)
        return false;
      Block = Value;
    }
  auto *Call = Block ? dyn_cast<CallExpr>(stripped(Block->At.E)) : nullptr;
  const FunctionDecl *Callee = Call ? Call->getDirectCallee() : nullptr;
  return Callee && Callee->getBuiltinID() == Builtin::BImalloc &&
         Block->At.In == &In;
}

} // namespace vfriendly::tidy
