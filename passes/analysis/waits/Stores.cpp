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

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/LoopView.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace vfriendly {

/// Returns true if V is a read, perhaps volatile or relaxed, of what Store
/// overwrites.
static bool isOldValue(const Value *V, const StoreInst &Store) {
  const DataLayout &DL = Store.getDataLayout();
  auto *Load = dyn_cast<LoadInst>(V);
  return Load && !isStrongerThanMonotonic(Load->getOrdering()) &&
         cellOf(Load->getPointerOperand(), DL) ==
             cellOf(Store.getPointerOperand(), DL);
}

/// Returns true if Store overwrites what it counts up or down by constants.
/// Bits that are set, cleared or toggled and a reset are none of these: another
/// thread may wait for them.
static bool counts(const StoreInst &Store, const Loop &L) {
  CellStep Is = stepOf(
      *Store.getValueOperand(),
      [&](const Value *V) { return isOldValue(V, Store); }, L);
  return (Is.By == Step::Counts || Is.By == Step::Scales) && !Is.SetTo;
}

/// Returns true if Store records the largest or smallest number seen, one that
/// the loop does not read from memory: if (n > most) most = n;
static bool recordsExtreme(const StoreInst &Store) {
  const Value *Number = Store.getValueOperand();
  const BasicBlock *Before = Store.getParent()->getSinglePredecessor();
  auto *Br = Before ? dyn_cast<BranchInst>(Before->getTerminator()) : nullptr;
  auto *Is = Br && Br->isConditional() ? dyn_cast<ICmpInst>(Br->getCondition())
                                       : nullptr;
  if (!Is || !Is->isRelational() || isa<LoadInst, CallBase>(Number))
    return false;
  return (Is->getOperand(0) == Number &&
          isOldValue(Is->getOperand(1), Store)) ||
         (Is->getOperand(1) == Number && isOldValue(Is->getOperand(0), Store));
}

/// Maximum number of operations of a step of a random number generator. A
/// xorshift has six, a rotation in it two more.
static constexpr unsigned MaxRandomSteps = 16;

/// Returns true if Store overwrites the state of a random number generator by
/// the next one: a multiplication of the old state, or an exclusive or of
/// values that are computed from it and from nothing else. A worker that steals
/// from a random queue keeps such a state.
static bool isRandomStep(const StoreInst &Store) {
  bool Mixes = false;
  SmallSetVector<const Value *, 16> Steps;
  Steps.insert(Store.getValueOperand());
  for (unsigned N = 0; N != Steps.size(); ++N) {
    const Value *V = Steps[N];
    if (auto *Load = dyn_cast<LoadInst>(V)) {
      if (!isOldValue(Load, Store))
        return false;
      continue;
    }
    auto *I = dyn_cast<Instruction>(V);
    auto *Call = dyn_cast_or_null<IntrinsicInst>(I);
    bool Rotates = Call && (Call->getIntrinsicID() == Intrinsic::fshl ||
                            Call->getIntrinsicID() == Intrinsic::fshr);
    if (!Rotates && !isa_and_nonnull<BinaryOperator, CastInst>(I))
      return false;
    Mixes |= I->getOpcode() == Instruction::Mul ||
             (I->getOpcode() == Instruction::Xor &&
              !isa<Constant>(I->getOperand(1)));
    for (const Use &Op : Rotates ? Call->args() : I->operands())
      if (!isa<Constant>(Op))
        Steps.insert(Op);
    if (Steps.size() > MaxRandomSteps)
      return false;
  }
  return Mixes;
}

/// Returns true if L reads memory at an address that is computed from what it
/// reads where Count stores, such as an index of a queue: `++index` is progress
/// then.
static bool locatesReads(const StoreInst &Count, const Loop &L) {
  auto ReadsCount = [&](const Value *V) { return isOldValue(V, Count); };
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, [&](const Instruction &I) {
      const Value *Address = getLoadStorePointerOperand(&I);
      return Address && isa<LoadInst>(I) && dependsOn(Address, ReadsCount, L);
    });
  });
}

/// Returns true if Store sets back what another store of L counts there, as in
/// `if (++polls == 1000) { polls = 0; yield(); }`.
static bool resets(const StoreInst &Store, const Loop &L) {
  const DataLayout &DL = Store.getDataLayout();
  return isa<Constant>(Store.getValueOperand()) &&
         any_of(L.blocks(), [&](const BasicBlock *B) {
           return any_of(*B, [&](const Instruction &I) {
             auto *Count = dyn_cast<StoreInst>(&I);
             return Count && counts(*Count, L) && !locatesReads(*Count, L) &&
                    cellOf(Count->getPointerOperand(), DL) ==
                        cellOf(Store.getPointerOperand(), DL);
           });
         });
}

bool isStatistics(const StoreInst &Store, const Loop &L) {
  return !isStrongerThanMonotonic(Store.getOrdering()) &&
         (isRandomStep(Store) || recordsExtreme(Store) || resets(Store, L) ||
          (counts(Store, L) && !locatesReads(Store, L)));
}

/// Returns true if Store keeps what the loop reads, for the code after the
/// loop, and an exit tests it: `if (((*seen = load(&word)) & mask) == 0)
/// return;`. So does a seqlock's reader: what it reads without a mark is of no
/// use if the version has changed. Other values are not meant: the loop may
/// copy them for other threads.
static bool keepsRead(const StoreInst &Store, const Loop &L) {
  const Value *Stored = withoutCasts(Store.getValueOperand());
  auto *Load = dyn_cast<LoadInst>(Stored);
  if (!Load || !L.contains(Load) ||
      !L.isLoopInvariant(Load->getPointerOperand()))
    return false;
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  return any_of(Exiting, [&](const BasicBlock *Exit) {
    auto *Br = dyn_cast<BranchInst>(Exit->getTerminator());
    if (!Br || !Br->isConditional())
      return false;
    return isMarkedAccess(*Load)
               ? dependsOn(
                     Br->getCondition(),
                     [&](const Value *V) { return V == Load; }, L)
               : isVersionCheck(L, Br->getCondition());
  });
}

/// Returns the value that Store stores in each iteration of L that is followed
/// by another one: an invariant one, perhaps because the loop ends if it is
/// not, or what the loop polls. Returns null if there is none.
static const Value *storedAgain(const StoreInst &Store, const Loop &L) {
  const Value *Stored = withoutCasts(Store.getValueOperand());
  if (L.isLoopInvariant(Stored))
    return Stored;
  SmallVector<BasicBlock *, 4> Exiting;
  L.getExitingBlocks(Exiting);
  for (BasicBlock *Exit : Exiting) {
    auto *Br = dyn_cast<BranchInst>(Exit->getTerminator());
    auto *Compare = Br ? dyn_cast<ICmpInst>(Br->getCondition()) : nullptr;
    if (!Compare || !Compare->isEquality() ||
        (Compare->getPredicate() == ICmpInst::ICMP_EQ) !=
            L.contains(Br->getSuccessor(0)) ||
        (Exit != Store.getParent() && !everyIterationPasses(L, Exit)))
      continue;
    const Value *A = withoutCasts(Compare->getOperand(0)),
                *B = withoutCasts(Compare->getOperand(1));
    // The loop may test the value where it has stored it.
    auto IsStored = [&](const Value *V) {
      return V == Stored || isOldValue(V, Store);
    };
    if (IsStored(A) && L.isLoopInvariant(B))
      return B;
    if (IsStored(B) && L.isLoopInvariant(A))
      return A;
  }
  return keepsRead(Store, L) ? Stored : nullptr;
}

bool isRepeated(const StoreInst &Store, const Loop &L) {
  const DataLayout &DL = Store.getDataLayout();
  Cell At = cellOf(Store.getPointerOperand(), DL);
  if (!Store.isSimple() || !L.isLoopInvariant(At.first))
    return false;
  const Value *Stored = storedAgain(Store, L);
  bool IsPolled = false;
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B)
      if (auto *Other = dyn_cast<StoreInst>(&I);
          Other && cellOf(Other->getPointerOperand(), DL) == At) {
        if (!Stored || storedAgain(*Other, L) != Stored)
          return false;
        IsPolled |= !L.isLoopInvariant(Other->getValueOperand());
      }
  return IsPolled;
}

} // namespace vfriendly
