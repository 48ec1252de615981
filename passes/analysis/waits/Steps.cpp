//===- Steps.cpp - How a cell changes in an iteration ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell is a phi of the header, or a place in memory that the loop writes. Its
// new value is followed back to the old one.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/waits/LoopView.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

namespace {

class StepFinder {
public:
  StepFinder(function_ref<bool(const Value *)> IsOld, const Loop &L)
      : IsOld(IsOld), L(L) {}

  CellStep find(const Value *V, unsigned Depth = 0);
  CellStep findAll(ArrayRef<const Value *> Values, unsigned Depth = 0);

private:
  function_ref<bool(const Value *)> IsOld;
  const Loop &L;
  SmallPtrSet<const PHINode *, 4> Open;
};

CellStep StepFinder::findAll(ArrayRef<const Value *> Values, unsigned Depth) {
  CellStep All;
  for (const Value *V : Values) {
    CellStep Is = find(V, Depth + 1);
    All.By = std::max(All.By, Is.By);
    All.SetsSeveral |=
        Is.SetsSeveral || (All.SetTo && Is.SetTo && All.SetTo != Is.SetTo);
    All.SetTo = Is.SetTo ? Is.SetTo : All.SetTo;
  }
  return All;
}

/// Returns true if Choice limits a count: n < 64 ? 2 * n : 64
static bool isLimit(const SelectInst &Choice) {
  auto *Compare = dyn_cast<ICmpInst>(Choice.getCondition());
  return Compare && Compare->isRelational() &&
         isa<ConstantInt>(Choice.getFalseValue()) !=
             isa<ConstantInt>(Choice.getTrueValue()) &&
         !match(Choice.getFalseValue(), m_Zero()) &&
         !match(Choice.getTrueValue(), m_Zero());
}

CellStep StepFinder::find(const Value *V, unsigned Depth) {
  // A selected, limited, conditional step has 4 levels; 2 are spare.
  constexpr unsigned MaxDepth = 6;
  if (IsOld(V))
    return {};
  if (L.isLoopInvariant(V))
    return {Step::Same, V};
  auto *I = dyn_cast<Instruction>(V);
  if (!I || Depth > MaxDepth)
    return {Step::Works};
  auto From = [&](Step AtLeast) {
    CellStep Is = find(I->getOperand(0), Depth + 1);
    Is.By = std::max(Is.By, AtLeast);
    return Is;
  };
  switch (I->getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub:
    // The step may grow, as in a back-off.
    if (CellStep Is = From(Step::Counts);
        Is.By != Step::Works && isa<Constant>(I->getOperand(1)))
      return Is;
    return {Step::Sums};
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
  case Instruction::Mul:
  case Instruction::UDiv:
    return From(isa<Constant>(I->getOperand(1)) ? Step::Scales : Step::Sums);
  case Instruction::Trunc: // A counter narrower than int.
  case Instruction::SExt:
  case Instruction::ZExt:
  case Instruction::Freeze:
    return From(Step::Same);
  case Instruction::Select: {
    auto &Choice = cast<SelectInst>(*I);
    CellStep Is =
        findAll({Choice.getTrueValue(), Choice.getFalseValue()}, Depth);
    if (isLimit(Choice))
      Is.SetTo = nullptr;
    return Is;
  }
  case Instruction::PHI: {
    auto *Phi = cast<PHINode>(I);
    if (!Open.insert(Phi).second)
      return {};
    SmallVector<const Value *, 4> Joined(Phi->incoming_values());
    CellStep Is = findAll(Joined, Depth);
    Open.erase(Phi);
    return Is;
  }
  default:
    if (auto *Limit = dyn_cast<MinMaxIntrinsic>(I)) {
      CellStep Is = findAll({Limit->getLHS(), Limit->getRHS()}, Depth);
      Is.SetTo = nullptr;
      return Is;
    }
    return {Step::Works};
  }
}

} // namespace

CellStep stepOf(const Value &New, function_ref<bool(const Value *)> IsOld,
                const Loop &L) {
  return StepFinder(IsOld, L).find(&New);
}

CellStep stepOf(const PHINode &Phi, const Loop &L) {
  SmallVector<const Value *, 4> Next;
  for (unsigned I = 0; I != Phi.getNumIncomingValues(); ++I)
    if (L.contains(Phi.getIncomingBlock(I)))
      Next.push_back(Phi.getIncomingValue(I));
  auto IsOld = [&](const Value *V) { return V == &Phi; };
  return StepFinder(IsOld, L).findAll(Next);
}

/// Returns the phis that pass their values on to V, a phi. At most 16: an inner
/// loop that goes on where it has ended has a chain of two or three.
static SmallSetVector<const PHINode *, 8> phisBefore(const PHINode &V) {
  SmallSetVector<const PHINode *, 8> Found;
  Found.insert(&V);
  for (unsigned N = 0; N != Found.size() && N != 16; ++N)
    for (const Value *In : Found[N]->incoming_values())
      if (auto *Phi = dyn_cast<PHINode>(In))
        Found.insert(Phi);
  return Found;
}

bool goesOn(const Instruction &I, const Loop &L) {
  auto *Phi = dyn_cast<PHINode>(&I);
  return Phi && any_of(phisBefore(*Phi), [&](const PHINode *Outer) {
           return Outer->getParent() == L.getHeader() &&
                  phisBefore(*Outer).contains(Phi);
         });
}

/// Returns the largest constant at which Counter starts, directly or where a
/// loop around this one starts it; 0 if there is none.
static uint64_t startOf(const Value *Counter) {
  SmallSetVector<const Value *, 8> Values;
  Values.insert(Counter);
  uint64_t Start = 0;
  // A counter of two loops has two phis and their sums; 16 is ample.
  for (unsigned N = 0; N != Values.size() && N != 16; ++N) {
    if (auto *Number = dyn_cast<ConstantInt>(Values[N]))
      Start = std::max(Start, Number->getValue().abs().getLimitedValue());
    else if (auto *Phi = dyn_cast<PHINode>(Values[N]))
      Values.insert(Phi->incoming_values().begin(),
                    Phi->incoming_values().end());
    else if (auto *Sum = dyn_cast<BinaryOperator>(Values[N]);
             Sum && isa<ConstantInt>(Sum->getOperand(1)) &&
             (Sum->getOpcode() == Instruction::Add ||
              Sum->getOpcode() == Instruction::Sub))
      Values.insert(Sum->getOperand(0));
  }
  return Start;
}

uint64_t boundIn(const Value *Condition) {
  auto *Compare = dyn_cast<ICmpInst>(Condition);
  if (!Compare)
    return 0;
  uint64_t Bound = 0;
  for (const Value *Side : Compare->operands())
    if (auto *Number = dyn_cast<ConstantInt>(Side))
      Bound = Number->isZero() ? startOf(Compare->getOperand(0))
                               : Number->getValue().abs().getLimitedValue();
  return Bound;
}

} // namespace vfriendly
