//===- Rewrite.cpp - Insertion of vf_numa_place calls ---------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/numa-placement/Rewrite.h"

#include "passes/common/Runtime.h"
#include "passes/common/RuntimeCalls.h"
#include "vfriendly/Fallbacks.h"

#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace vfriendly {

static constexpr StringLiteral PlaceName = "vf_numa_place_if_linked";
static constexpr StringLiteral EarlyName = "vf_numa_place_static";
static constexpr StringLiteral PlacedMark = "vf.numa.placed";
/// Values of enum vf_numa_policy in vfriendly/numa.h.
enum Policy : uint32_t { R4K = 1, Blocks = 2, Early = 16 };
/// Priority of the constructor that places static arrays: after those of the
/// implementation, and before those without a priority.
static constexpr int ConstructorPriority = 101;

static uint32_t policyOf(bool InBlocks) { return InBlocks ? Blocks : R4K; }

/// Returns true if F is in the section of clang's initializers of C++
/// variables, which run before main.
static bool isBeforeMain(const Function &F) {
  return F.getSection() == ".text.startup";
}

/// Returns V modulo 2^64, as what is computed at run time.
static uint64_t lowBits(const ConstantInt &V) {
  return V.getValue().zextOrTrunc(64).getZExtValue();
}

/// Multiplies Size by V.
static void multiply(AllocationSize &Size, Value *V) {
  if (auto *Number = dyn_cast<ConstantInt>(V))
    Size.Constant *= lowBits(*Number);
  else
    Size.Factors.push_back(V);
}

bool isFreshAllocation(CallBase &Call, const TargetLibraryInfo &TLI,
                       AllocationSize &Size) {
  if (!isAllocationFn(&Call, &TLI) || getReallocatedOperand(&Call) ||
      isa<CallBrInst>(Call) || Call.isMustTailCall())
    return false;
  Attribute Operands = Call.getFnAttr(Attribute::AllocSize);
  if (!Operands.isValid())
    return false;
  auto [First, Second] = Operands.getAllocSizeArgs();
  multiply(Size, Call.getArgOperand(First));
  if (Second)
    multiply(Size, Call.getArgOperand(*Second));
  return true;
}

bool isWrapperOf(const Function &F, const CallBase &Allocation) {
  SmallVector<const Value *, 4> Worklist{&Allocation};
  SmallPtrSet<const Value *, 4> Seen;
  bool IsReturned = false;
  while (!Worklist.empty()) {
    const Value *V = Worklist.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    for (const User *Each : V->users()) {
      if (isa<PHINode, SelectInst>(Each))
        Worklist.push_back(Each);
      else if (isa<ReturnInst>(Each))
        IsReturned = true;
      else if (!isa<ICmpInst>(Each))
        return false;
    }
  }
  return IsReturned && all_of(instructions(F), [&](const Instruction &I) {
           auto *Return = dyn_cast<ReturnInst>(&I);
           const Value *Result = Return ? Return->getReturnValue() : nullptr;
           return !Result || Seen.contains(Result) ||
                  isa<ConstantPointerNull>(Result);
         });
}

bool sizeAt(const CallBase &Call, const AllocationSize &Inside,
            AllocationSize &Size) {
  Size.Constant = Inside.Constant;
  SmallVector<Value *, 4> Worklist(Inside.Factors.begin(),
                                   Inside.Factors.end());
  while (!Worklist.empty()) {
    Value *Factor = Worklist.pop_back_val();
    auto *Operator = dyn_cast<BinaryOperator>(Factor);
    if (auto *Parameter = dyn_cast<Argument>(Factor)) {
      if (Parameter->getArgNo() >= Call.arg_size())
        return false;
      multiply(Size, Call.getArgOperand(Parameter->getArgNo()));
    } else if (auto *Number = dyn_cast<ConstantInt>(Factor)) {
      Size.Constant *= lowBits(*Number);
    } else if (isa<SExtInst, ZExtInst>(Factor)) {
      Worklist.push_back(cast<Instruction>(Factor)->getOperand(0));
    } else if (Operator && Operator->getOpcode() == Instruction::Mul) {
      Worklist.push_back(Operator->getOperand(0));
      Worklist.push_back(Operator->getOperand(1));
    } else if (Operator && Operator->getOpcode() == Instruction::Shl &&
               isa<ConstantInt>(Operator->getOperand(1)) &&
               cast<ConstantInt>(Operator->getOperand(1))->getValue().ult(63)) {
      Size.Constant <<= lowBits(*cast<ConstantInt>(Operator->getOperand(1)));
      Worklist.push_back(Operator->getOperand(0));
    } else {
      return false;
    }
  }
  return true;
}

bool isMarkedPlaced(const Value &Root) {
  if (auto *Global = dyn_cast<GlobalVariable>(&Root))
    return Global->hasAttribute(PlacedMark);
  return cast<Instruction>(Root).hasMetadata(PlacedMark);
}

static FunctionCallee placeFunction(Module &M) {
  LLVMContext &C = M.getContext();
  return M.getOrInsertFunction(
      PlaceName, FunctionType::get(Type::getVoidTy(C),
                                   {PointerType::getUnqual(C),
                                    Type::getInt64Ty(C), Type::getInt32Ty(C)},
                                   false));
}

void placeAfter(CallBase &Call, const AllocationSize &Size, bool InBlocks) {
  Module &M = *Call.getModule();
  std::optional<BasicBlock::iterator> At = Call.getInsertionPointAfterDef();
  if (!At)
    return;
  IRBuilder<> Builder((*At)->getParent(), *At);
  Builder.SetCurrentDebugLocation(Call.getDebugLoc());
  Value *Bytes = Builder.getInt64(Size.Constant);
  for (Value *Factor : Size.Factors)
    Bytes = Builder.CreateMul(
        Bytes, Builder.CreateZExtOrTrunc(Factor, Builder.getInt64Ty()));
  uint32_t How = policyOf(InBlocks);
  if (isBeforeMain(*Call.getFunction()))
    How |= Early;
  setLocation(*Builder.CreateCall(placeFunction(M),
                                  {&Call, Bytes, Builder.getInt32(How)}),
              Call.getDebugLoc());
  Call.setMetadata(PlacedMark, MDNode::get(M.getContext(), {}));
}

void placeBeforeMain(Module &M,
                     ArrayRef<std::pair<GlobalVariable *, bool>> Arrays) {
  if (Arrays.empty())
    return;
  LLVMContext &C = M.getContext();
  auto *F = Function::createWithDefaultAttr(
      FunctionType::get(Type::getVoidTy(C), false),
      GlobalValue::InternalLinkage, M.getDataLayout().getProgramAddressSpace(),
      EarlyName, &M);
  F->addFnAttr(Attribute::NoUnwind);
  IRBuilder<> Builder(BasicBlock::Create(C, "", F));
  for (auto [Array, InBlocks] : Arrays) {
    uint64_t Size = M.getDataLayout().getTypeAllocSize(Array->getValueType());
    Builder.CreateCall(placeFunction(M),
                       {Array, Builder.getInt64(Size),
                        Builder.getInt32(policyOf(InBlocks) | Early)});
    Array->addAttribute(PlacedMark);
  }
  Builder.CreateRetVoid();
  appendToGlobalCtors(M, F, ConstructorPriority);
}

void linkPlaceFallback(Module &M) {
  Function *F = M.getFunction(PlaceName);
  if (!F || !F->isDeclaration())
    return;
  linkDefinitions(M, fallback::Place);
  // Keeps the function external. LTO could otherwise make it internal and
  // remove its parameters, so that a later run of the pass could not add calls.
  appendToCompilerUsed(M, {M.getFunction(PlaceName)});
}

} // namespace vfriendly
