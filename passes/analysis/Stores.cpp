//===- Stores.cpp - Stores that leave no trace of an iteration ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that stores to shared memory works, with two exceptions: statistics,
// on which nothing depends, and a store that each failed iteration repeats.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LoopView.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Maximum number of operations that compute a count.
static constexpr unsigned MaxCountDepth = 4;

/// Returns true if V is what Store overwrites, counted up or down by constants.
/// Bits that are set, cleared or toggled and a reset are none of these: another
/// thread may wait for them.
static bool countsFrom(const Value *V, const StoreInst &Store,
                       unsigned Depth = 0) {
  if (Depth == MaxCountDepth)
    return false;
  auto Counts = [&](const Value *Of) {
    return countsFrom(Of, Store, Depth + 1);
  };
  if (auto *Load = dyn_cast<LoadInst>(V))
    return Depth != 0 && Load->isSimple() &&
           Load->getPointerOperand() == Store.getPointerOperand();
  if (auto *Cast = dyn_cast<CastInst>(V))
    return Counts(Cast->getOperand(0));
  if (auto *Operation = dyn_cast<BinaryOperator>(V))
    return is_contained({Instruction::Add, Instruction::Sub, Instruction::Mul,
                         Instruction::Shl, Instruction::UDiv,
                         Instruction::LShr},
                        Operation->getOpcode()) &&
           isa<Constant>(Operation->getOperand(1)) &&
           Counts(Operation->getOperand(0));
  if (auto *MinMax = dyn_cast<MinMaxIntrinsic>(V))
    return isa<Constant>(MinMax->getRHS()) && Counts(MinMax->getLHS());
  // A cap: n < 64 ? 2 * n : 64
  auto *Choice = dyn_cast<SelectInst>(V);
  auto *Limit = Choice ? dyn_cast<ICmpInst>(Choice->getCondition()) : nullptr;
  if (!Limit || !Limit->isRelational())
    return false;
  const Value *Count = Choice->getTrueValue(), *Cap = Choice->getFalseValue();
  if (isa<Constant>(Count))
    std::swap(Count, Cap);
  auto *Number = dyn_cast<ConstantInt>(Cap);
  return Number && !Number->isZero() && Counts(Limit->getOperand(0)) &&
         Counts(Count);
}

/// Returns true if Store records the largest or smallest number seen, one that
/// the loop does not read from memory: if (n > most) most = n;
static bool recordsExtreme(const StoreInst &Store) {
  const Value *Number = Store.getValueOperand(),
              *At = Store.getPointerOperand();
  const BasicBlock *Before = Store.getParent()->getSinglePredecessor();
  auto *Br = Before ? dyn_cast<BranchInst>(Before->getTerminator()) : nullptr;
  auto *Is = Br && Br->isConditional() ? dyn_cast<ICmpInst>(Br->getCondition())
                                       : nullptr;
  if (!Is || !Is->isRelational() || isa<LoadInst, CallBase>(Number))
    return false;
  // The address is computed twice where common subexpressions are not yet
  // eliminated.
  auto IsOld = [&](const Value *V) {
    auto *Load = dyn_cast<LoadInst>(V);
    if (!Load || !Load->isSimple())
      return false;
    auto *Here = dyn_cast<Instruction>(At);
    auto *There = dyn_cast<Instruction>(Load->getPointerOperand());
    return At == Load->getPointerOperand() ||
           (Here && There && isa<GetElementPtrInst>(Here) &&
            Here->isIdenticalTo(There));
  };
  return (Is->getOperand(0) == Number && IsOld(Is->getOperand(1))) ||
         (Is->getOperand(1) == Number && IsOld(Is->getOperand(0)));
}

/// Returns true if L reads memory at an address that is computed from what it
/// reads at Count, such as an index of a queue: `++index` is progress then.
static bool locatesReads(const Value *Count, const Loop &L) {
  auto ReadsCount = [&](const Value *V) {
    auto *Load = dyn_cast<LoadInst>(V);
    return Load && Load->getPointerOperand() == Count;
  };
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, [&](const Instruction &I) {
      const Value *Address = getLoadStorePointerOperand(&I);
      return Address && isa<LoadInst>(I) && dependsOn(Address, ReadsCount, L);
    });
  });
}

bool isStatistics(const StoreInst &Store, const Loop &L) {
  return Store.isSimple() && ((countsFrom(Store.getValueOperand(), Store) &&
                               !locatesReads(Store.getPointerOperand(), L)) ||
                              recordsExtreme(Store));
}

static const Value *withoutCasts(const Value *V) {
  while (isa<CastInst, FreezeInst>(V))
    V = cast<Instruction>(V)->getOperand(0);
  return V;
}

bool isRepeated(const StoreInst &Store, const Loop &L) {
  if (!Store.isSimple() || !L.isLoopInvariant(Store.getPointerOperand()))
    return false;
  const Value *Stored = withoutCasts(Store.getValueOperand());
  if (L.isLoopInvariant(Stored))
    return true;
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  return any_of(Exiting, [&](BasicBlock *Exit) {
    auto *Br = dyn_cast<BranchInst>(Exit->getTerminator());
    if (!Br || !everyIterationPasses(L, SmallPtrSet<BasicBlock *, 1>({Exit})))
      return false;
    bool StaysIf = L.contains(Br->getSuccessor(0));
    auto *Compare = dyn_cast<ICmpInst>(Br->getCondition());
    if (!Compare || !Compare->isEquality() ||
        (Compare->getPredicate() == ICmpInst::ICMP_EQ) != StaysIf)
      return false;
    const Value *A = withoutCasts(Compare->getOperand(0)),
                *B = withoutCasts(Compare->getOperand(1));
    return (A == Stored && L.isLoopInvariant(B)) ||
           (B == Stored && L.isLoopInvariant(A));
  });
}

} // namespace vfriendly
