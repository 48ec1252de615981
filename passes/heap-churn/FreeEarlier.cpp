//===- FreeEarlier.cpp - Free memory before long-running code -------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After its last use the block is unreachable, so freeing it earlier changes
// only how much memory the process holds.
//
//===----------------------------------------------------------------------===//

#include "passes/common/RuntimeCalls.h"
#include "passes/heap-churn/Rewrite.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace vfriendly {

/// Maximum number of basic blocks to search for code that may take long. Most
/// searches find no such code.
static constexpr unsigned MaxSearch = 64;
/// Maximum number of basic blocks to search for uses of the allocation, once
/// code that may take long is found.
static constexpr unsigned MaxProof = 1024;

/// Returns true if the instruction may execute for a long time.
static bool mayTakeLong(const Instruction &I, const TargetLibraryInfo &TLI) {
  auto *Call = dyn_cast<CallBase>(&I);
  LibFunc Known;
  return Call && !isa<IntrinsicInst>(Call) && !Call->isInlineAsm() &&
         !Call->onlyReadsMemory() && !TLI.getLibFunc(*Call, Known);
}

enum class Walk { Beyond, NotBeyond, Stop };

/// Calls Visit for the basic blocks that are reachable from From without
/// passing Call again. Returns false if Visit has returned Stop, or if there
/// are more than Most such blocks.
static bool walkBehind(BasicBlock &From, const CallBase &Call, unsigned Most,
                       function_ref<Walk(BasicBlock &)> Visit) {
  SmallPtrSet<BasicBlock *, 16> Seen;
  SmallVector<BasicBlock *, 16> Worklist{&From};
  while (!Worklist.empty())
    for (BasicBlock *To : successors(Worklist.pop_back_val())) {
      if (!Seen.insert(To).second)
        continue;
      Walk Next = Seen.size() > Most ? Walk::Stop : Visit(*To);
      if (Next == Walk::Stop)
        return false;
      if (Next == Walk::Beyond && To != Call.getParent())
        Worklist.push_back(To);
    }
  return true;
}

/// Returns true if an instruction that may take long runs between At and the
/// call that frees A.
static bool isFollowedByLong(const Allocation &A, Instruction &At,
                             const FunctionState &Here) {
  auto IsFree = [&](const Instruction &I) { return is_contained(A.Frees, &I); };
  for (Instruction *I = &At; I; I = I->getNextNode())
    if (IsFree(*I))
      return false;
    else if (mayTakeLong(*I, Here.TLI))
      return true;
  const Loop *L = Here.LI.getLoopFor(At.getParent());
  bool IsLong = false;
  walkBehind(*At.getParent(), *A.Call, MaxSearch, [&](BasicBlock &B) {
    const Loop *Inner = Here.LI.getLoopFor(&B);
    IsLong = Inner != L && (!L || L->contains(Inner));
    for (const Instruction &I : B) {
      if (IsLong)
        break;
      if (IsFree(I))
        return Walk::NotBeyond;
      IsLong = mayTakeLong(I, Here.TLI);
    }
    return IsLong ? Walk::Stop : Walk::Beyond;
  });
  return IsLong;
}

/// Returns true if all uses of A come before At, and At runs once for each
/// allocation.
static bool isBehindAllUses(const Allocation &A, Instruction &At,
                            const FunctionState &Here) {
  BasicBlock *Block = At.getParent();
  if (!all_of(A.Frees, [&](const CallBase *Free) {
        return Free == &At || Here.DT.dominates(&At, Free);
      }))
    return false;
  SmallPtrSet<const BasicBlock *, 8> WithUses;
  for (const Instruction *User : A.Users)
    if (!is_contained(A.Frees, User))
      WithUses.insert(User->getParent());
  return walkBehind(*Block, *A.Call, MaxProof, [&](BasicBlock &B) {
    // Does not search beyond the basic block of A.Call: the uses in that block
    // refer to the memory that the next execution of A.Call allocates.
    if (&B == A.Call->getParent())
      return Walk::NotBeyond;
    return &B == Block || WithUses.contains(&B) ? Walk::Stop : Walk::Beyond;
  });
}

/// Returns the first place after all uses of A that every path from the
/// allocation reaches.
static Instruction *behindUses(const Allocation &A,
                               const PostDominatorTree &PDT) {
  BasicBlock *Block = A.Call->getParent();
  if (auto *Invoke = dyn_cast<InvokeInst>(A.Call))
    Block = Invoke->getNormalDest();
  for (Instruction *User : A.Users)
    if (Block && !is_contained(A.Frees, User))
      Block = PDT.findNearestCommonDominator(Block, User->getParent());
  if (!Block || Block->isEHPad())
    return nullptr;
  Instruction *Last = A.Call->getParent() == Block ? A.Call : nullptr;
  for (Instruction *User : A.Users)
    if (User->getParent() == Block && !is_contained(A.Frees, User) &&
        (!Last || Last->comesBefore(User)))
      Last = User;
  return Last ? Last->getNextNode() : &*Block->getFirstInsertionPt();
}

Instruction *earlierFree(const Allocation &A, const PostDominatorTree &PDT,
                         const FunctionState &Here) {
  Instruction *At = A.Frees.empty() ? nullptr : behindUses(A, PDT);
  if (!At || !Here.DT.dominates(A.Call, At) ||
      !isFollowedByLong(A, *At, Here) || !isBehindAllUses(A, *At, Here))
    return nullptr;
  for (const CallBase *Free : A.Frees) {
    LibFunc Known;
    // Requires a free function of the C or C++ library: at the earlier place
    // the pointer may be null, which other functions may not accept.
    if (!isa<CallInst>(Free) || !Here.TLI.getLibFunc(*Free, Known) ||
        Free->hasOperandBundles() || Free->isMustTailCall())
      return nullptr;
  }
  const CallBase *Free = A.Frees.front();
  for (const Use &Argument : Free->args())
    if (Argument != getFreedOperand(Free, &Here.TLI) &&
        !Here.DT.dominates(Argument.get(), At))
      return nullptr;
  return At;
}

void freeEarlier(const Allocation &A, Instruction &At, FunctionState &Here) {
  Here.IsChanged = true;
  auto *Copy = cast<CallBase>(A.Frees.front()->clone());
  for (Use &Argument : Copy->args())
    if (Argument == getFreedOperand(A.Frees.front(), &Here.TLI))
      Argument.set(A.Call);
  // Removes `nonnull`: at the new place the pointer may be null, even if the
  // program tested it before the free.
  Copy->removeParamAttr(0, Attribute::NonNull);
  Copy->removeParamAttr(0, Attribute::Dereferenceable);
  Copy->insertBefore(At.getIterator());
  // Keeps the line of a single free, by which users know it in reports of
  // memory tools; several have in common only their scope.
  DILocation *Where = A.Frees.front()->getDebugLoc();
  for (CallBase *Free : A.Frees)
    Where = DILocation::getMergedLocation(Where, Free->getDebugLoc());
  setLocation(*Copy, DebugLoc(Where));
  for (CallBase *Free : A.Frees)
    Free->eraseFromParent();
}

} // namespace vfriendly
