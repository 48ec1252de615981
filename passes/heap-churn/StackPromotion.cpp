//===- StackPromotion.cpp - Move small blocks to the stack ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Rewrite.h"

#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace vfriendly {

/// Maximum size of a promoted block. The same limit as in LLVM's own
/// heap-to-stack conversion (Attributor).
static constexpr uint64_t MaxSize = 128;
/// The alignment that malloc guarantees on every 64-bit target.
static constexpr uint64_t MallocAlign = 16;
/// Maximum alignment of a promoted block: a larger one makes each call realign
/// the whole frame.
static constexpr uint64_t MaxAlign = 16;
uint64_t stackSize(const Allocation &A, const FunctionState &Here) {
  std::optional<APInt> Size = getAllocSize(A.Call, &Here.TLI);
  if (!Size || Size->isZero() || Size->ugt(MaxSize))
    return 0;
  if (Value *Align = getAllocAlignment(A.Call, &Here.TLI)) {
    auto *C = dyn_cast<ConstantInt>(Align);
    if (!C || C->getValue().ugt(MaxAlign))
      return 0;
  }
  // Rejects an allocation whose declaration guarantees a larger alignment than
  // MaxAlign: accesses rely on it.
  if (A.Call->getRetAlign().valueOrOne() > MaxAlign)
    return 0;
  const DataLayout &Layout = Here.F.getDataLayout();
  if (Layout.getAllocaAddrSpace() !=
      A.Call->getType()->getPointerAddressSpace())
    return 0;
  Type *Byte = Type::getInt8Ty(A.Call->getContext());
  return getInitialValueOfAllocation(A.Call, &Here.TLI, Byte)
             ? Size->getLimitedValue()
             : 0;
}

static void erase(CallBase &Call, FunctionState &Here) {
  Here.Vanishing.erase(&Call);
  auto *Invoke = dyn_cast<InvokeInst>(&Call);
  if (!Invoke) {
    Call.eraseFromParent();
    return;
  }
  // Marks Here stale: without the unwind edge of the invoke, a loop of the
  // function may no longer exist.
  Here.IsStale = true;
  DomTreeUpdater Updater(Here.DT, DomTreeUpdater::UpdateStrategy::Eager);
  changeToCall(Invoke, &Updater)->eraseFromParent();
}

void moveToStack(const Allocation &A, uint64_t Size, FunctionState &Here) {
  Here.IsChanged = true;
  LLVMContext &Context = Here.F.getContext();
  IRBuilder<> AtEntry(&*Here.F.getEntryBlock().getFirstInsertionPt());
  auto *Memory =
      AtEntry.CreateAlloca(ArrayType::get(Type::getInt8Ty(Context), Size),
                           nullptr, A.Call->getName() + ".stack");
  Memory->setAlignment(Align(MallocAlign));
  markRewritten(*Memory);
  // Removes `tail` from calls: it promises that the callee does not access the
  // caller's frame, which now contains the block.
  for (Instruction *User : A.Users)
    if (auto *Call = dyn_cast<CallInst>(User))
      Call->setTailCall(false);
  forgetPromises(A);
  IRBuilder<> AtCall(A.Call);
  Constant *Initial =
      getInitialValueOfAllocation(A.Call, &Here.TLI, Type::getInt8Ty(Context));
  if (!isa<UndefValue>(Initial))
    AtCall.CreateMemSet(Memory, Initial, Size, Align(MallocAlign));
  A.Call->replaceAllUsesWith(Memory);
  for (CallBase *Free : A.Frees)
    erase(*Free, Here);
  erase(*A.Call, Here);
}

} // namespace vfriendly
