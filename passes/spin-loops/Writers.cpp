//===- Writers.cpp - Writes that may end a wait ---------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/spin-loops/Writers.h"

#include "passes/analysis/common/WaitNeutral.h"
#include "passes/analysis/waits/Causes.h"
#include "passes/analysis/waits/Devices.h"
#include "passes/analysis/waits/Summaries.h"
#include "passes/common/RuntimeCalls.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace vfriendly {

/// Finds the structure and field of an address, from the address computation
/// nearest to the access.
static void locateField(const Value *Address, const DataLayout &DL,
                        Location &Where) {
  auto *GEP = dyn_cast<GEPOperator>(Address->stripPointerCasts());
  if (!GEP || GEP->getNumIndices() < 2)
    return;
  Where.Struct = dyn_cast<StructType>(GEP->getSourceElementType());
  if (!Where.Struct)
    return;
  // Sets the first index to 0: the first index selects one of several
  // structures, whereas StructOffset is an offset inside one structure.
  SmallVector<Value *, 4> Indices(GEP->indices());
  Indices[0] = ConstantInt::get(Indices[0]->getType(), 0);
  if (all_of(Indices, [](Value *V) { return isa<ConstantInt>(V); }))
    Where.StructOffset =
        DL.getIndexedOffsetInType(GEP->getSourceElementType(), Indices);
}

/// Finds the structure and field of a TBAA tag: {base, access, offset}; a
/// scalar access has its own type as base.
static void locateTag(const MDNode *Tag, Location &Where) {
  if (!Tag || Tag->getNumOperands() < 3 ||
      Tag->getOperand(0) == Tag->getOperand(1))
    return;
  auto *Offset = mdconst::dyn_extract<ConstantInt>(Tag->getOperand(2));
  if (!Offset || Offset->getValue().getSignificantBits() > 64)
    return;
  Where.Tag = Tag->getOperand(0).get();
  Where.TagOffset = Offset->getSExtValue();
}

std::optional<MemoryLocation> writtenBy(const Instruction &I) {
  if (!isa<StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(I))
    return std::nullopt;
  return MemoryLocation::get(&I);
}

/// Returns true if I is a store that is neither atomic nor volatile.
static bool isPlainStore(const Instruction &I) {
  auto *Store = dyn_cast<StoreInst>(&I);
  return Store && Store->isSimple();
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
    Where.Offset = Offset.trySExtValue();
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
  // One of the accesses is through an unknown pointer. Such accesses may match
  // only if both are volatile or atomic.
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

Writers::LocationId Writers::idOf(const Location &Where) {
  unsigned Known = Where.Offset.has_value() |
                   Where.StructOffset.has_value() << 1 | Where.Plain << 2;
  return {Where.Global,
          Where.Struct,
          Where.Tag,
          Where.Offset.value_or(0),
          Where.StructOffset.value_or(0),
          Where.TagOffset,
          Where.Size,
          Known};
}

/// Special offsets in a Key: Varying stands for an offset that is a variable,
/// Any for every offset. No object is large enough to contain these offsets,
/// and they differ from the two values that DenseMap reserves.
static constexpr int64_t Varying = INT64_MIN / 2, Any = INT64_MIN / 2 + 1;

SmallVector<Writers::Key, 4> Writers::keysOf(const Location &Where,
                                             bool OfWait) {
  SmallVector<Key, 4> Keys;
  // Two offsets may match if they are equal or one of them is not known.
  auto Add = [&](const void *Base, std::optional<int64_t> Offset) {
    Keys.push_back({Base, Where.Size, Offset.value_or(OfWait ? Any : Varying)});
    if (!OfWait)
      Keys.push_back({Base, Where.Size, Any});
    else if (Offset)
      Keys.push_back({Base, Where.Size, Varying});
  };
  if (Where.Global) {
    Add(Where.Global, Where.Offset);
    return Keys;
  }
  if (Where.Tag)
    Keys.push_back({Where.Tag, Where.Size, Where.TagOffset});
  if (Where.Struct)
    Add(Where.Struct, Where.StructOffset);
  if (!Where.Plain)
    Add(nullptr, Where.Offset);
  return Keys;
}

bool Writers::anyMatch(const Location &Where,
                       function_ref<bool(unsigned)> Each) const {
  for (const Key &K : keysOf(Where, /*OfWait=*/true))
    if (auto It = Index.find(K); It != Index.end())
      for (unsigned G : It->second)
        if (mayMatch(Where, Groups[G].Where) && Each(G))
          return true;
  return false;
}

void Writers::add(Instruction &I, Value *Address, uint64_t Size, bool Plain) {
  auto [It, New] =
      Shared.try_emplace(getUnderlyingObject(Address, /*MaxLookup=*/16), false);
  if (New)
    It->second = mayBeShared(Address);
  if (!It->second || isDeviceAddress(Address))
    return;
  Location Where = locate(I, Address, Size, Plain);
  auto [Found, NewGroup] = GroupOf.try_emplace(idOf(Where), Groups.size());
  if (NewGroup) {
    for (const Key &K : keysOf(Where, /*OfWait=*/false))
      Index[K].push_back(Groups.size());
    Groups.emplace_back();
    Groups.back().Where = Where;
  }
  Groups[Found->second].Members.push_back(
      {&I, find(I.operands(), Address)->getOperandNo()});
}

Writers::Writers(Module &M, const SmallPtrSetImpl<const Instruction *> &Tries)
    : M(M) {
  for (Function &F : M)
    for (BasicBlock &B : F)
      for (Instruction &I : B)
        if (!Tries.contains(&I))
          visit(I);
}

/// Returns the size of the memory operand that assembly writes, by its element
/// type.
static std::optional<uint64_t> sizeOfOperand(const CallBase &Call,
                                             const Value *Address,
                                             const DataLayout &DL) {
  for (unsigned I = 0; I != Call.arg_size(); ++I)
    if (Type *Ty = Call.getParamElementType(I);
        Ty && Call.getArgOperand(I) == Address)
      if (TypeSize Size = DL.getTypeStoreSize(Ty); !Size.isScalable())
        return Size.getFixedValue();
  return std::nullopt;
}

void Writers::visit(Instruction &I) {
  if (std::optional<MemoryLocation> At = writtenBy(I)) {
    if (!At->Size.isScalable())
      add(I, const_cast<Value *>(At->Ptr), At->Size.getValue(),
          isPlainStore(I));
  } else if (auto *Call = dyn_cast<CallBase>(&I)) {
    const DataLayout &DL = M.getDataLayout();
    if (Call->isInlineAsm()) {
      CallClass Class = classifyCall(*Call);
      if (Class.Effect == CallEffect::AsmStore ||
          Class.Effect == CallEffect::AsmTry ||
          Class.Effect == CallEffect::AsmAdd)
        if (auto Size = sizeOfOperand(*Call, Class.Address, DL))
          add(I, Class.Address, *Size, false);
      return;
    }
    Function *Callee = Call->getCalledFunction();
    if (!Callee || Callee->isDeclaration())
      return;
    auto S = asSetter(*Callee, 0);
    if (!S)
      return;
    // If Address is an unknown pointer, this call is not a writer: the store in
    // the callee is one, so the notify is inserted after that store.
    Value *Address = Call->getArgOperand(S->Param);
    if (locate(I, Address, S->Size, false).isNamed())
      add(I, Address, S->Size, false);
  }
}

/// Returns the parameter through which F writes if F is like
/// std::atomic<T>::store: small, and its only write that other threads may see
/// is through one parameter.
std::optional<Writers::Setter> Writers::asSetter(Function &F, unsigned Depth) {
  if (F.isDeclaration() || Depth > MaxCallDepth ||
      !hasNItemsOrLess(instructions(F), MaxCalleeInstructions))
    return std::nullopt;
  auto [It, New] = Setters.try_emplace(&F, std::nullopt);
  if (!New)
    return It->second;

  std::optional<Setter> Found;
  auto Add = [&](const Value *Address, uint64_t Size) {
    if (!mayBeShared(Address))
      return true;
    auto *Arg = dyn_cast<Argument>(Address);
    if (!Arg ||
        (Found && (Found->Param != Arg->getArgNo() || Found->Size != Size)))
      return false;
    Found = Setter{Arg->getArgNo(), Size};
    return true;
  };
  for (BasicBlock &B : F) {
    for (Instruction &I : B) {
      bool Fits = true;
      if (std::optional<MemoryLocation> At = writtenBy(I)) {
        Fits = !At->Size.isScalable() &&
               (!isPlainStore(I) || !mayBeShared(At->Ptr)) &&
               Add(At->Ptr, At->Size.getValue());
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
  return anyMatch(Where, [](unsigned) { return true; });
}

bool Writers::anySurelyFor(const Location &Where) const {
  return anyMatch(
      Where, [&](unsigned G) { return surelyMatch(Where, Groups[G].Where); });
}

/// Returns true if a write of Size bytes at Offset is a writer for Where, which
/// notifies, or does not overlap Where.
static bool isWriterOrElsewhere(const Location &Where,
                                std::optional<int64_t> Offset, TypeSize Size) {
  if (Size.isScalable())
    return false;
  int64_t Bytes = Size.getFixedValue(), Polled = Where.Size;
  if (Bytes == Polled && sameOffset(Where.Offset, Offset))
    return true;
  return Where.Offset && Offset &&
         (*Offset + Bytes <= *Where.Offset ||
          *Where.Offset + Polled <= *Offset);
}

/// Returns true if Call passes a key to the runtime, which only compares it or
/// reads the memory there.
static bool passesKey(const CallBase &Call, const Use &Key) {
  return Key.getOperandNo() == 0 &&
         (calls(Call, NotifyFunction) || calls(Call, WaitFunction) ||
          calls(Call, BoundedWaitFunction));
}

bool Writers::isClosed(const Location &Where) {
  if (!Where.Global || !Where.Global->hasLocalLinkage())
    return false;
  const DataLayout &DL = Where.Global->getDataLayout();
  SmallVector<std::pair<const Value *, std::optional<int64_t>>, 8> Worklist{
      {Where.Global, 0}};
  while (!Worklist.empty()) {
    auto [Address, Offset] = Worklist.pop_back_val();
    for (const Use &U : Address->uses()) {
      const User *By = U.getUser();
      if (auto *GEP = dyn_cast<GEPOperator>(By)) {
        APInt Added(DL.getIndexTypeSizeInBits(GEP->getType()), 0);
        bool Constant = Offset && GEP->getPointerOperand() == Address &&
                        GEP->accumulateConstantOffset(DL, Added);
        Worklist.push_back({GEP, Constant ? std::optional<int64_t>(
                                                *Offset + Added.getSExtValue())
                                          : std::nullopt});
        continue;
      }
      if (isa<LoadInst>(By))
        continue;
      if (auto *Call = dyn_cast<CallBase>(By); Call && passesKey(*Call, U))
        continue;
      auto *I = dyn_cast<Instruction>(By);
      std::optional<MemoryLocation> At;
      if (I)
        At = writtenBy(*I);
      // Another operand of I would keep the address.
      if (!At || U.getOperandNo() != (isa<StoreInst>(I) ? 1u : 0u) ||
          !isWriterOrElsewhere(Where, Offset, At->Size.getValue()))
        return false;
    }
  }
  return true;
}

bool Writers::isOnlyRead(const Value &Address) {
  auto *Global = dyn_cast<GlobalVariable>(getUnderlyingObject(&Address));
  if (!Global)
    return false;
  auto [It, New] = OnlyRead.try_emplace(Global, false);
  if (New)
    It->second =
        Global->hasLocalLinkage() && all_of(Global->users(), [](const User *U) {
          auto *Load = dyn_cast<LoadInst>(U);
          return Load && !Load->isVolatile();
        });
  return It->second;
}

} // namespace vfriendly
