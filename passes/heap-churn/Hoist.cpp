//===- Hoist.cpp - One buffer for all rounds of a loop --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   for (...) {                     char *kept = NULL;
//     char *b = malloc(n);          for (...) {
//     ...                    =>       char *b = kept ? kept : (kept =
//     malloc(n)); free(b);                        ...
//   }                               }
//                                   free(kept);
//
// So a round that does not need it takes none, one whose malloc fails sees
// that, and the next one tries again, all as before.
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Rewrite.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace vfriendly {

/// Might control leave the loop here, and not by its exits: an exception that
/// passes this function, a longjmp, the end of the thread?
static bool mayVanish(const Instruction &I, const TargetLibraryInfo &TLI) {
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call || isa<IntrinsicInst>(Call))
    return false;
  // The C library's functions come back, or end the process.
  LibFunc Known;
  if (TLI.getLibFunc(*Call, Known) && Call->doesNotThrow())
    return false;
  return !(Call->doesNotThrow() || isa<InvokeInst>(Call)) ||
         !Call->hasFnAttr(Attribute::WillReturn);
}

/// Is the memory there, in the round, whenever control is at I? Then it was
/// lost before as well, if control vanishes.
static bool isHeldAt(const Instruction &I, const Allocation &A,
                     const DominatorTree &DT, const LoopInfo &LI) {
  if (!DT.dominates(A.Call, &I))
    return false;
  // Not after a free, unless it is taken again between.
  SmallPtrSet<BasicBlock *, 1> Exclude = {A.Call->getParent()};
  return none_of(A.Frees, [&](const CallBase *Free) {
    if (Free == &I)
      return false;
    if (Free->getParent() == I.getParent() && Free->comesBefore(&I))
      return true;
    return I.getParent() != A.Call->getParent() &&
           any_of(successors(Free->getParent()), [&](const BasicBlock *S) {
             return !Exclude.contains(const_cast<BasicBlock *>(S)) &&
                    isPotentiallyReachable(S, I.getParent(), &Exclude, &DT,
                                           &LI);
           });
  });
}

StringRef whyNotHoist(const Allocation &A, const Loop &L,
                      const DominatorTree &DT, const LoopInfo &LI,
                      const TargetLibraryInfo &TLI) {
  for (const Use &Argument : A.Call->args())
    if (!L.isLoopInvariant(Argument))
      return "its size is not the same in every round";
  auto IsOutside = [&](const Instruction *I) { return !L.contains(I); };
  if (A.Frees.empty() || any_of(A.Frees, IsOutside))
    return "it is not freed in the loop";
  if (any_of(A.Users, IsOutside))
    return "it is used after the loop";
  for (const CallBase *Free : A.Frees)
    for (const Use &Argument : Free->args())
      if (Argument != getFreedOperand(Free, &TLI) &&
          !L.isLoopInvariant(Argument))
        return "how it is freed is not the same in every round";
  // calloc's zeros are those of its first round only.
  Type *Byte = Type::getInt8Ty(A.Call->getContext());
  Constant *Initial = getInitialValueOfAllocation(A.Call, &TLI, Byte);
  if (!Initial || !isa<UndefValue>(Initial))
    return "it must be zero in every round";
  if (isa<InvokeInst>(A.Call))
    return "its failure is caught";
  for (const CallBase *Free : A.Frees)
    if (isa<InvokeInst>(Free))
      return "freeing it may throw";
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B) {
      if (&I == A.Call || is_contained(A.Frees, &I))
        continue;
      if (mayVanish(I, TLI) && !isHeldAt(I, A, DT, LI))
        return "a call in the loop may not come back, by an exception or "
               "longjmp, and the buffer would be lost";
    }
  SmallVector<BasicBlock *, 4> Exits;
  L.getExitBlocks(Exits);
  for (const BasicBlock *Exit : Exits)
    if (Exit->isEHPad() && !Exit->isLandingPad())
      return "the loop is left by a funclet";
  return "";
}

void hoist(const Allocation &A, Loop &L, DominatorTree &DT, LoopInfo &LI,
           const TargetLibraryInfo &TLI) {
  Function &F = *A.Call->getFunction();
  Type *Pointer = A.Call->getType();
  auto *Null = ConstantPointerNull::get(cast<PointerType>(Pointer));
  IRBuilder<> AtEntry(&*F.getEntryBlock().getFirstInsertionPt());
  auto *Kept =
      AtEntry.CreateAlloca(Pointer, nullptr, A.Call->getName() + ".kept");
  IRBuilder<>(L.getLoopPreheader()->getTerminator()).CreateStore(Null, Kept);

  // Freed where the loop is left, as it was freed in it.
  CallBase *Free = A.Frees.front();
  SmallVector<BasicBlock *, 4> Exits;
  L.getUniqueExitBlocks(Exits);
  for (BasicBlock *Exit : Exits) {
    IRBuilder<> AtExit(&*Exit->getFirstInsertionPt());
    auto *Last = AtExit.CreateLoad(Pointer, Kept, "kept");
    Instruction *Copy = Free->clone();
    Copy->setDebugLoc(Free->getDebugLoc());
    AtExit.Insert(Copy);
    for (Use &Argument : cast<CallBase>(Copy)->args())
      if (Argument == getFreedOperand(Free, &TLI))
        Argument.set(Last);
  }
  for (CallBase *Each : A.Frees)
    Each->eraseFromParent();

  IRBuilder<> AtCall(A.Call);
  auto *Before = AtCall.CreateLoad(Pointer, Kept, "kept");
  Value *IsNone = AtCall.CreateIsNull(Before);
  Instruction *Then = SplitBlockAndInsertIfThen(
      IsNone, A.Call->getIterator(), /*Unreachable=*/false,
      /*BranchWeights=*/nullptr, static_cast<DomTreeUpdater *>(nullptr), &LI);
  DT.recalculate(F);
  BasicBlock *After = A.Call->getParent();
  auto *Phi = PHINode::Create(Pointer, 2, "buffer");
  Phi->insertBefore(After->begin());
  A.Call->replaceAllUsesWith(Phi);
  Phi->addIncoming(Before, Before->getParent());
  Phi->addIncoming(A.Call, Then->getParent());
  A.Call->moveBefore(Then->getIterator());
  IRBuilder<>(Then).CreateStore(A.Call, Kept);
  // Its place is known no more: it may be the round before's.
  A.Call->removeRetAttr(Attribute::NonNull);
  PromoteMemToReg({Kept}, DT);
}

} // namespace vfriendly
