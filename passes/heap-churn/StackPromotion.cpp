//===- StackPromotion.cpp - Small heap memory into a stack frame ----------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/heap-churn/Rewrite.h"

#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace vfriendly {

/// As much as LLVM's own heap-to-stack conversion (Attributor) takes for small.
static constexpr uint64_t MaxSize = 128;
/// What malloc promises on every 64-bit target.
static constexpr uint64_t MallocAlign = 16;
/// Larger ones make the whole frame be aligned anew in each call.
static constexpr uint64_t MaxAlign = 16;

uint64_t stackSize(const Allocation &A, const TargetLibraryInfo &TLI) {
  std::optional<APInt> Size = getAllocSize(A.Call, &TLI);
  if (!Size || Size->isZero() || Size->ugt(MaxSize))
    return 0;
  if (Value *Align = getAllocAlignment(A.Call, &TLI)) {
    auto *C = dyn_cast<ConstantInt>(Align);
    if (!C || C->getValue().ugt(MaxAlign))
      return 0;
  }
  Type *Byte = Type::getInt8Ty(A.Call->getContext());
  Constant *Initial = getInitialValueOfAllocation(A.Call, &TLI, Byte);
  return Initial ? Size->getZExtValue() : 0;
}

void moveToStack(const Allocation &A, uint64_t Size,
                 const TargetLibraryInfo &TLI) {
  Function &F = *A.Call->getFunction();
  LLVMContext &Context = F.getContext();
  IRBuilder<> AtEntry(&*F.getEntryBlock().getFirstInsertionPt());
  auto *Memory =
      AtEntry.CreateAlloca(ArrayType::get(Type::getInt8Ty(Context), Size),
                           nullptr, A.Call->getName() + ".stack");
  Memory->setAlignment(Align(MallocAlign));
  for (CallBase *Free : A.Frees) {
    if (auto *Invoke = dyn_cast<InvokeInst>(Free))
      changeToCall(Invoke)->eraseFromParent();
    else
      Free->eraseFromParent();
  }
  for (ICmpInst *Test : A.Tests) {
    bool IsNull = Test->getPredicate() == ICmpInst::ICMP_NE;
    Test->replaceAllUsesWith(ConstantInt::getBool(Context, IsNull));
    Test->eraseFromParent();
  }
  // `tail` says that a call does not see the caller's frame.
  for (CallBase *Borrower : A.Borrowers)
    if (auto *Call = dyn_cast<CallInst>(Borrower))
      Call->setTailCall(false);
  IRBuilder<> AtCall(A.Call);
  Constant *Initial =
      getInitialValueOfAllocation(A.Call, &TLI, Type::getInt8Ty(Context));
  if (!isa<UndefValue>(Initial))
    AtCall.CreateMemSet(Memory, Initial, Size, Align(MallocAlign));
  A.Call->replaceAllUsesWith(Memory);
  if (auto *Invoke = dyn_cast<InvokeInst>(A.Call))
    changeToCall(Invoke)->eraseFromParent();
  else
    A.Call->eraseFromParent();
}

} // namespace vfriendly
