//===- CounterLimits.cpp - When a counter ends a loop ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/CounterLimits.h"

#include "passes/analysis/waits/Gather.h"
#include "passes/common/LLVMVersions.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Returns X's recurrence if X is a counter of L that steps by 1, else null.
static const SCEVAddRecExpr *asCounter(Value *X, const Loop &L,
                                       ScalarEvolution &SE) {
  auto *Counter = SE.isSCEVable(X->getType())
                      ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(X))
                      : nullptr;
  return Counter && Counter->getLoop() == &L && Counter->isAffine() &&
                 Counter->getStepRecurrence(SE)->isOne()
             ? Counter
             : nullptr;
}

const SCEV *untilAbove(const ExitLeaf &Leaf, const Loop &L,
                       ScalarEvolution &SE) {
  auto *Compare = dyn_cast<ICmpInst>(Leaf.Condition);
  if (!Compare)
    return nullptr;
  CmpInst::Predicate Ends =
      Leaf.StaysIf ? Compare->getInversePredicate() : Compare->getPredicate();
  Value *X = Compare->getOperand(0), *K = Compare->getOperand(1);
  if (L.isLoopInvariant(X)) {
    std::swap(X, K);
    Ends = CmpInst::getSwappedPredicate(Ends);
  }
  if ((Ends != CmpInst::ICMP_UGT && Ends != CmpInst::ICMP_SGT) ||
      !L.isLoopInvariant(K))
    return nullptr;
  const SCEVAddRecExpr *Counter = asCounter(X, L, SE);
  if (!Counter)
    return nullptr;
  const SCEV *Start = Counter->getStart(), *Limit = SE.getSCEV(K);
  return SE.getMinusSCEV(Ends == CmpInst::ICMP_SGT
                             ? SE.getSMaxExpr(Limit, Start)
                             : SE.getUMaxExpr(Limit, Start),
                         Start);
}

const SCEV *untilMultiple(const ExitLeaf &Leaf, const Loop &L,
                          ScalarEvolution &SE, const SCEV *&Most) {
  CmpPredicate Compares;
  Value *Left, *X, *K = nullptr;
  const APInt *R, *Mask;
  if (!match(Leaf.Condition, m_ICmp(Compares, m_Value(Left), m_APInt(R))) ||
      Compares != (Leaf.StaysIf ? CmpInst::ICMP_NE : CmpInst::ICMP_EQ))
    return nullptr;
  bool IsSigned = match(Left, m_SRem(m_Value(X), m_Value(K)));
  if (match(Left, m_And(m_Value(X), m_LowBitMask(Mask))) && !Mask->isAllOnes())
    K = ConstantInt::get(X->getType(), *Mask + 1); // x & 7 is x % 8.
  else if (!IsSigned && !match(Left, m_URem(m_Value(X), m_Value(K))))
    return nullptr;
  // A division by poison, before the loop, would be undefined behavior.
  if (!L.isLoopInvariant(K) || !isGuaranteedNotToBeUndefOrPoison(K))
    return nullptr;
  // r must be less than k, and k + r must not overflow.
  const APInt *Constant = nullptr;
  if (!R->isZero() && (!match(K, m_APInt(Constant)) || Constant->isNegative() ||
                       R->uge(*Constant)))
    return nullptr;
  const SCEVAddRecExpr *Counter = asCounter(X, L, SE);
  if (!Counter)
    return nullptr;
  Type *Ty = X->getType();
  unsigned Bits = SE.getTypeSizeInBits(Ty);
  const SCEV *Start = Counter->getStart(), *One = SE.getOne(Ty);
  // If k is 0, which the loop as written must not divide by, or negative, none
  // is counted: x0 % 1 is 0.
  const SCEV *Divisor = IsSigned ? SE.getSMaxExpr(SE.getSCEV(K), One)
                                 : SE.getUMaxExpr(SE.getSCEV(K), One);
  const SCEV *Multiple =
      SE.getURemExpr(SE.getMinusSCEV(SE.getAddExpr(Divisor, SE.getConstant(*R)),
                                     SE.getURemExpr(Start, Divisor)),
                     Divisor);
  Most = SE.getConstant(SE.getUnsignedRangeMax(Divisor));
  const SCEV *Largest = SE.getConstant(IsSigned ? APInt::getSignedMaxValue(Bits)
                                                : APInt::getMaxValue(Bits));
  const SCEV *Wraps = SE.getMinusSCEV(Largest, Start);
  if (IsSigned) // Negative, as a signed number, if Start is.
    Wraps = SE.getSMaxExpr(Wraps, SE.getZero(Ty));
  return SE.getUMinExpr(Multiple, Wraps);
}

} // namespace vfriendly
