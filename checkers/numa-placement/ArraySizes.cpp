//===- ArraySizes.cpp - Arrays that are too small to report ---------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/ArraySizes.h"

#include "checkers/common/Counting.h"
#include "checkers/common/SourceText.h"
#include "checkers/numa-placement/ParallelFix.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

using namespace clang;

namespace vfriendly::tidy {

/// Minimum bytes of a reported array, 16 pages: smaller ones share pages.
static constexpr uint64_t LeastBytes = 64 * 1024;

bool ArraySizes::isSmall(const BulkEvent &Event) const {
  auto *Parameter = dyn_cast_or_null<ParmVarDecl>(Event.Array);
  return (Event.Bytes && Event.Bytes < LeastBytes) ||
         (Parameter && isSmall(Parameter->getOriginalType()));
}

bool ArraySizes::isSmall(QualType T) const {
  return T->isConstantArrayType() &&
         uint64_t(Context.getTypeSizeInChars(T).getQuantity()) < LeastBytes;
}

bool ArraySizes::isSmall(const ValueDecl &Array) const {
  QualType T = Array.getType();
  // On the stack, of which a thread has some megabytes.
  if (T->isVariableArrayType() ||
      llvm::any_of(Values.valuesOf(Array), [](const GivenValue *Value) {
        return Value->At.E && identifierOf(calleeOf(stripped(Value->At.E)))
                                  .ends_with("alloca");
      }))
    return true;
  if (!T->isPointerType())
    return isSmall(T);
  SmallVector<const Expr *, 2> Blocks;
  for (const GivenValue *Value : Values.valuesOf(Array))
    if (Value->Kind == GivenValue::Assigned)
      Blocks.push_back(Value->At.E);
  if (auto *Variable = dyn_cast<VarDecl>(&Array);
      Variable && Variable->hasGlobalStorage() && Variable->getAnyInitializer())
    Blocks.push_back(Variable->getAnyInitializer());
  return !Blocks.empty() && llvm::all_of(Blocks, [&](const Expr *E) {
    return isNewBlock(E) && blockSize(*stripped(E)) &&
           blockSize(*stripped(E)) < LeastBytes;
  });
}

/// Returns the size of a new block; 0 if it is not known.
uint64_t ArraySizes::blockSize(const Expr &Block) const {
  // Up to 32 bits, so that no product overflows.
  auto Constant = [&](const Expr *E) -> uint64_t {
    return std::max<int64_t>(0, smallConstant(E, Context).value_or(0));
  };
  if (auto *New = dyn_cast<CXXNewExpr>(&Block))
    return New->getArraySize()
               ? Constant(*New->getArraySize()) *
                     Context.getTypeSizeInChars(New->getAllocatedType())
                         .getQuantity()
               : 0;
  auto &Call = cast<CallExpr>(Block);
  if (Call.getNumArgs() == 1)
    return Constant(Call.getArg(0));
  if (Call.getDirectCallee()->getName() == "calloc" && Call.getNumArgs() == 2)
    return Constant(Call.getArg(0)) * Constant(Call.getArg(1));
  return Call.getNumArgs() == 2 ? Constant(Call.getArg(1)) : 0;
}

} // namespace vfriendly::tidy
