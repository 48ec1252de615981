//===- Writers.cpp - Who may end a wait -----------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/Writers.h"

#include "passes/spin-loops/ExitCauses.h"
#include "passes/spin-loops/Rewrite.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace vfriendly {

/// The structure and field an address is computed with, from the address
/// computation nearest to the access.
static void locateField(const Value *Address, const DataLayout &DL,
                        Location &Where) {
  auto *GEP = dyn_cast<GEPOperator>(Address->stripPointerCasts());
  if (!GEP || GEP->getNumIndices() < 2)
    return;
  Where.Struct = dyn_cast<StructType>(GEP->getSourceElementType());
  if (!Where.Struct)
    return;
  // The first index chooses among whole structures.
  SmallVector<Value *, 4> Indices(GEP->indices());
  Indices[0] = ConstantInt::get(Indices[0]->getType(), 0);
  if (all_of(Indices, [](Value *V) { return isa<ConstantInt>(V); }))
    Where.StructOffset =
        DL.getIndexedOffsetInType(GEP->getSourceElementType(), Indices);
}

/// The structure and field a TBAA tag names: {base, access, offset}, where a
/// scalar access has its own type as base.
static void locateTag(const MDNode *Tag, Location &Where) {
  if (!Tag || Tag->getNumOperands() < 3 ||
      Tag->getOperand(0) == Tag->getOperand(1))
    return;
  auto *Offset = mdconst::dyn_extract<ConstantInt>(Tag->getOperand(2));
  if (!Offset)
    return;
  Where.Tag = Tag->getOperand(0).get();
  Where.TagOffset = Offset->getSExtValue();
}

Location locate(const Instruction &Access, const Value *Address, uint64_t Size,
                bool Plain) {
  const DataLayout &DL = Access.getDataLayout();
  Location Where;
  Where.Size = Size;
  Where.Plain = Plain;
  APInt Offset(DL.getIndexTypeSizeInBits(Address->getType()), 0);
  const Value *Base = Address->stripAndAccumulateConstantOffsets(
      DL, Offset, /*AllowNonInbounds=*/true);
  if (!isa<GEPOperator>(Base))
    Where.Offset = Offset.getSExtValue();
  Where.Global =
      dyn_cast<GlobalVariable>(getUnderlyingObject(Address, /*MaxLookup=*/16));
  if (Where.Global)
    return Where;
  locateField(Address, DL, Where);
  if (!isa<CallBase>(Access))
    locateTag(Access.getMetadata(LLVMContext::MD_tbaa), Where);
  return Where;
}

static bool sameOffset(std::optional<int64_t> A, std::optional<int64_t> B) {
  return !A || !B || *A == *B;
}

bool mayMatch(const Location &A, const Location &B) {
  if (A.Size != B.Size || A.Global != B.Global)
    return false;
  if (A.Global)
    return sameOffset(A.Offset, B.Offset);
  if (A.Tag && B.Tag)
    return A.Tag == B.Tag && A.TagOffset == B.TagOffset;
  if (A.Struct && B.Struct)
    return A.Struct == B.Struct && sameOffset(A.StructOffset, B.StructOffset);
  // Behind just any pointer, only accesses meant for other threads count.
  return !A.Plain && !B.Plain && sameOffset(A.Offset, B.Offset);
}

bool surelyMatch(const Location &A, const Location &B) {
  if (!mayMatch(A, B))
    return false;
  if (A.Global)
    return A.Offset && B.Offset;
  return (A.Tag && B.Tag) ||
         (A.Struct && B.Struct && A.StructOffset && B.StructOffset);
}

void Writers::add(Instruction &I, Value *Address, uint64_t Size, bool Plain) {
  auto [It, New] =
      Shared.try_emplace(getUnderlyingObject(Address, /*MaxLookup=*/16), false);
  if (New)
    It->second = mayBeShared(Address);
  if (It->second && !isDeviceAddress(Address))
    All.push_back({&I, Address, locate(I, Address, Size, Plain)});
}

Writers::Writers(Module &M, const SmallPtrSetImpl<const Instruction *> &Tries)
    : M(M) {
  for (Function &F : M) {
    for (BasicBlock &B : F) {
      for (Instruction &I : B) {
        if (Tries.contains(&I))
          continue;
        const DataLayout &DL = M.getDataLayout();
        if (auto *Store = dyn_cast<StoreInst>(&I)) {
          TypeSize Size =
              DL.getTypeStoreSize(Store->getValueOperand()->getType());
          if (!Size.isScalable())
            add(I, Store->getPointerOperand(), Size,
                !Store->isVolatile() && !Store->isAtomic());
        } else if (auto *RMW = dyn_cast<AtomicRMWInst>(&I)) {
          add(I, RMW->getPointerOperand(), DL.getTypeStoreSize(RMW->getType()),
              false);
        } else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
          add(I, Exchange->getPointerOperand(),
              DL.getTypeStoreSize(Exchange->getNewValOperand()->getType()),
              false);
        } else if (auto *Call = dyn_cast<CallInst>(&I)) {
          Function *Callee = Call->getCalledFunction();
          if (!Callee || Callee->isDeclaration() || Call->isMustTailCall())
            continue;
          auto S = asSetter(*Callee, 0);
          if (!S)
            continue;
          // Behind just any pointer the setter's own store is instrumented.
          Value *Address = Call->getArgOperand(S->Param);
          if (locate(I, Address, S->Size, false).isNamed())
            add(I, Address, S->Size, false);
        }
      }
    }
  }
}

/// Is F something like std::atomic<T>::store: small, and writing to nothing
/// that others see but the object one parameter points to?
std::optional<Writers::Setter> Writers::asSetter(Function &F, unsigned Depth) {
  // As in Expose.cpp: std::atomic's members have a case for each memory order,
  // and call each other a few levels deep.
  if (F.isDeclaration() || Depth > 4 || F.getInstructionCount() > 300)
    return std::nullopt;
  auto [It, New] = Setters.try_emplace(&F, std::nullopt);
  if (!New)
    return It->second;

  std::optional<Setter> Found;
  auto Add = [&](Value *Address, uint64_t Size) {
    if (!mayBeShared(Address))
      return true;
    auto *Arg = dyn_cast<Argument>(Address);
    if (!Arg ||
        (Found && (Found->Param != Arg->getArgNo() || Found->Size != Size)))
      return false;
    Found = Setter{Arg->getArgNo(), Size};
    return true;
  };
  const DataLayout &DL = M.getDataLayout();
  for (BasicBlock &B : F) {
    for (Instruction &I : B) {
      bool Fits = true;
      if (auto *Store = dyn_cast<StoreInst>(&I)) {
        Fits = !DL.getTypeStoreSize(Store->getValueOperand()->getType())
                    .isScalable() &&
               (Store->isAtomic() || Store->isVolatile() ||
                !mayBeShared(Store->getPointerOperand())) &&
               Add(Store->getPointerOperand(),
                   DL.getTypeStoreSize(Store->getValueOperand()->getType()));
      } else if (auto *RMW = dyn_cast<AtomicRMWInst>(&I)) {
        Fits =
            Add(RMW->getPointerOperand(), DL.getTypeStoreSize(RMW->getType()));
      } else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I)) {
        Fits =
            Add(Exchange->getPointerOperand(),
                DL.getTypeStoreSize(Exchange->getNewValOperand()->getType()));
      } else if (auto *Call = dyn_cast<CallBase>(&I)) {
        Function *Callee = Call->getCalledFunction();
        std::optional<Setter> Nested;
        if (Callee && !Callee->isDeclaration())
          Nested = asSetter(*Callee, Depth + 1);
        if (Nested)
          Fits = Add(Call->getArgOperand(Nested->Param), Nested->Size);
      }
      if (!Fits)
        return std::nullopt;
    }
  }
  return Setters[&F] = Found;
}

bool Writers::anyFor(const Location &Where) const {
  return any_of(All, [&](const Writer &W) { return mayMatch(Where, W.Where); });
}

bool Writers::anySurelyFor(const Location &Where) const {
  return any_of(All,
                [&](const Writer &W) { return surelyMatch(Where, W.Where); });
}

bool Writers::addWait(const Location &Where) {
  bool Any = false;
  for (Writer &W : All) {
    if (!mayMatch(Where, W.Where))
      continue;
    Any = true;
    W.Notifies = true;
    W.Releases |= Where.Plain && surelyMatch(Where, W.Where);
  }
  return Any;
}

SmallVector<Function *, 4> Writers::instrument() {
  SmallVector<Function *, 4> Changed;
  for (Writer &W : All) {
    auto *Store = dyn_cast<StoreInst>(W.I);
    if (W.Releases && Store && Store->isUnordered() && !Store->isVolatile() &&
        canBeAtomic(Store->getValueOperand()->getType(), Store->getAlign(),
                    M.getDataLayout()))
      Store->setAtomic(AtomicOrdering::Release);
    if (!W.Notifies || isInstrumented(*W.I) || !mayRewrite(*W.I->getFunction()))
      continue;
    emitNotify(*W.I, *W.Address);
    if (!is_contained(Changed, W.I->getFunction()))
      Changed.push_back(W.I->getFunction());
  }
  return Changed;
}

} // namespace vfriendly
