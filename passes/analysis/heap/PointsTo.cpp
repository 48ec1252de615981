//===- PointsTo.cpp - Points-to analysis of a function --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Visits all instructions until no set of pointers grows any more; the order of
// instructions does not matter. An object has cells: ranges of bytes, each with
// the set of pointers that are stored there. Bytes that are not stored as
// pointers may be copied from pointers elsewhere, and are treated so. An
// instruction that the analysis does not understand shares its operands: their
// addresses and contents escape, and anything may be written to them.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/heap/PointsTo.h"

#include "passes/analysis/heap/Allocation.h"
#include "passes/analysis/heap/Escape.h"
#include "passes/common/LLVMVersions.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace llvm;

namespace vfriendly {

static constexpr int64_t Anywhere = std::numeric_limits<int64_t>::min();
static constexpr uint64_t ToTheEnd = std::numeric_limits<uint64_t>::max();
/// Maximum number of cells per object, a cell for each offset; beyond it cells
/// are merged. A large structure has this many fields.
static constexpr size_t MaxCells = 64;
/// Maximum number of instructions and objects to visit. A function that needs
/// more is left unchanged.
static constexpr size_t MaxWork = 1000000;

bool Offset::join(Offset Other) {
  if (*this == Other || (!IsExact && Other.Low >= Low))
    return false;
  // If a pointer's offset decreases with each visit, it becomes Anywhere at
  // once, so that the analysis ends.
  Low = !IsExact ? Anywhere : std::min(Low, Other.Low);
  IsExact = false;
  return true;
}

bool Places::join(const Places &Other) {
  bool IsNew = Other.Elsewhere && !Elsewhere;
  Elsewhere |= Other.Elsewhere;
  for (auto [Object, At] : Other.Objects) {
    auto [It, IsFirst] = Objects.insert({Object, At});
    IsNew |= IsFirst || It->second.join(At);
  }
  return IsNew;
}

static Places elsewhere() {
  Places P;
  P.Elsewhere = true;
  return P;
}

static Places startOf(const Instruction &Object) {
  Places P;
  P.Objects.insert({&Object, Offset()});
  return P;
}

static Places allOf(const Instruction &Object) {
  Places P;
  P.Objects.insert({&Object, {Anywhere, false}});
  return P;
}

static bool isBefore(Offset End, uint64_t Size, Offset Begin) {
  int64_t Sum;
  return End.IsExact && Size <= uint64_t(std::numeric_limits<int64_t>::max()) &&
         !AddOverflow(End.Low, int64_t(Size), Sum) && Sum <= Begin.Low;
}

bool PointsTo::Cell::overlaps(Offset Where, uint64_t Bytes) const {
  return !isBefore(At, Size, Where) && !isBefore(Where, Bytes, At);
}

PointsTo::PointsTo(Function &F, ArrayRef<CallBase *> Calls,
                   const TargetLibraryInfo &TLI)
    : TLI(TLI), DL(F.getDataLayout()) {
  insertRange(Allocations, Calls);
  ReversePostOrderTraversal<Function *> Order(&F);
  for (bool IsNew = true; IsNew;) {
    IsNew = false;
    for (BasicBlock *B : Order)
      for (Instruction &I : *B) {
        if (++Work > MaxWork)
          return;
        IsNew |= visit(I);
      }
    for (auto [Object, Why] : to_vector(Shared))
      IsNew |= share(held(allOf(*Object), ToTheEnd),
                     "its address is in memory that other code may read");
  }
  Done = true;
}

Places PointsTo::places(const Value &V) const {
  if (isa<ConstantPointerNull, UndefValue>(V))
    return {};
  if (!isa<Instruction>(V))
    return elsewhere();
  Places P = Known.lookup(&V);
  Work += P.Objects.size();
  return P;
}

bool PointsTo::isHeld(const Instruction &Object) const {
  return any_of(Cells, [&](const auto &Each) {
    return any_of(Each.second, [&](const Cell &C) {
      return C.Held.Objects.count(&Object) != 0;
    });
  });
}

bool PointsTo::set(const Instruction &I, const Places &P) {
  return Known[&I].join(P);
}

bool PointsTo::hold(const Instruction &Object, Offset At, uint64_t Size,
                    const Places &Held) {
  SmallVector<Cell, 4> &All = Cells[&Object];
  for (Cell &C : All)
    if ((C.At == At && C.Size == Size) || All.size() >= MaxCells) {
      bool IsWider = C.At.join(At);
      if (C.Size < Size)
        C.Size = Size, IsWider = true;
      return C.Held.join(Held) || IsWider;
    }
  All.push_back({At, Size, Held});
  return true;
}

bool PointsTo::share(const Places &P, StringRef Why) {
  bool IsNew = false;
  for (auto [Object, At] : P.Objects)
    if (Shared.insert({Object, Why}).second) {
      hold(*Object, {Anywhere, false}, ToTheEnd, elsewhere());
      IsNew = true;
    }
  return IsNew;
}

Places PointsTo::held(const Places &Where, uint64_t Size) const {
  Places Found;
  for (auto [Object, At] : Where.Objects)
    if (auto All = Cells.find(Object); All != Cells.end())
      for (const Cell &C : All->second)
        if (++Work; C.overlaps(At, Size)) {
          Work += C.Held.Objects.size();
          Found.join(C.Held);
        }
  return Found;
}

bool PointsTo::shareOperands(Instruction &I, StringRef Why) {
  bool IsNew = false;
  for (const Value *Operand : I.operand_values())
    IsNew |= share(Known.lookup(Operand), Why);
  return IsNew;
}

/// Returns the offset that GEP computes from a base at offset From.
static Offset advance(const GEPOperator &GEP, Offset From,
                      const DataLayout &DL) {
  APInt Constant(DL.getIndexTypeSizeInBits(GEP.getType()), 0);
  if (GEP.accumulateConstantOffset(DL, Constant)) {
    Offset To = From;
    std::optional<int64_t> Bytes = Constant.trySExtValue();
    if (From.Low != Anywhere &&
        (!Bytes || AddOverflow(From.Low, *Bytes, To.Low)))
      return {Anywhere, false};
    return To;
  }
  if (GEP.hasNoUnsignedWrap())
    return {From.Low, false};
  return {GEP.isInBounds() ? 0 : Anywhere, false};
}

bool PointsTo::visit(Instruction &I) {
  if (I.isDebugOrPseudoInst() || isa<ICmpInst>(I))
    return false;
  if (isa<AllocaInst>(I))
    return set(I, startOf(I));
  if (I.isVolatile()) {
    bool IsNew = I.getType()->isPointerTy() && set(I, elsewhere());
    return shareOperands(I, "it is accessed as volatile") || IsNew;
  }
  if (auto *GEP = dyn_cast<GEPOperator>(&I);
      GEP && I.getType()->isPointerTy()) {
    Places To;
    Places From = places(*GEP->getPointerOperand());
    To.Elsewhere = From.Elsewhere;
    for (auto [Object, At] : From.Objects)
      To.Objects.insert({Object, advance(*GEP, At, DL)});
    return set(I, To);
  }
  if (isa<PHINode, SelectInst, BitCastInst, FreezeInst>(I))
    return joinAll(I);
  if (auto *Load = dyn_cast<LoadInst>(&I))
    return visitLoad(I, *Load->getPointerOperand(), *I.getType());
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return visitStore(*Store->getValueOperand(), *Store->getPointerOperand());
  if (auto *Call = dyn_cast<CallBase>(&I))
    return visitCall(*Call);
  bool IsNew = I.getType()->isPointerTy() && set(I, elsewhere());
  StringRef Why = isa<ReturnInst>(I)
                      ? "it is returned"
                      : "an integer is computed from its address";
  return shareOperands(I, Why) || IsNew;
}

bool PointsTo::joinAll(Instruction &I) {
  if (!I.getType()->isPointerTy())
    return shareOperands(I, "its address is an element of a vector");
  Places All;
  for (const Value *Operand : I.operand_values())
    if (Operand->getType() == I.getType())
      All.join(places(*Operand));
  return set(I, All);
}

bool PointsTo::visitLoad(Instruction &Load, Value &Address, Type &Type) {
  TypeSize Size = DL.getTypeStoreSize(&Type);
  Places From = places(Address);
  Places Found =
      held(From, Size.isScalable() ? ToTheEnd : Size.getFixedValue());
  if (!Type.isPointerTy())
    return share(Found, "its address is loaded as a value of another type");
  Found.Elsewhere |= From.Elsewhere;
  return set(Load, Found);
}

bool PointsTo::visitStore(Value &Stored, Value &Address) {
  Type *Type = Stored.getType();
  if (auto *C = dyn_cast<Constant>(&Stored);
      C && (C->isNullValue() || isa<UndefValue>(C)))
    return false;
  Places Held = Type->isPointerTy() ? places(Stored) : elsewhere();
  Places To = places(Address);
  TypeSize Size = DL.getTypeStoreSize(Type);
  bool IsNew = To.Elsewhere && share(Held, "its address is stored elsewhere");
  for (auto [Object, At] : To.Objects)
    IsNew |= hold(*Object, At,
                  Size.isScalable() ? ToTheEnd : Size.getFixedValue(), Held);
  return IsNew;
}

bool PointsTo::visitCopy(AnyMemIntrinsic &Copy) {
  auto *Length = dyn_cast<ConstantInt>(Copy.getLength());
  uint64_t Size = Length ? Length->getValue().getLimitedValue() : ToTheEnd;
  bool IsNew = false;
  if (auto *Transfer = dyn_cast<AnyMemTransferInst>(&Copy)) {
    Places Found = held(places(*Transfer->getRawSource()), Size);
    IsNew = share(Found, "memory that holds its address is copied");
  } else if (auto *Value =
                 dyn_cast<Constant>(cast<AnyMemSetInst>(Copy).getValue());
             Value && Value->isNullValue()) {
    return false;
  }
  for (auto [Object, At] : places(*Copy.getRawDest()).Objects)
    IsNew |= hold(*Object, At, Size, elsewhere());
  return IsNew;
}

bool PointsTo::visitCall(CallBase &Call) {
  if (Allocations.contains(&Call))
    return set(Call, startOf(Call));
  if (auto *Intrinsic = dyn_cast<IntrinsicInst>(&Call)) {
    if (auto *Copy = dyn_cast<AnyMemIntrinsic>(Intrinsic))
      return visitCopy(*Copy);
    if ((Intrinsic->isAssumeLikeIntrinsic() ||
         Intrinsic->getIntrinsicID() == Intrinsic::prefetch) &&
        !Call.getType()->isPointerTy())
      return false;
  }
  bool IsNew = Call.getType()->isPointerTy() && set(Call, elsewhere());
  for (Use &Operand : Call.data_ops()) {
    if (!Operand->getType()->isPtrOrPtrVectorTy())
      continue;
    if (Call.isArgOperand(&Operand))
      IsNew |= visitArgument(Call, Operand);
    else
      IsNew |= share(places(*Operand), "its address is used in an unusual way");
  }
  return IsNew;
}

bool PointsTo::visitArgument(CallBase &Call, Use &Argument) {
  Places Given = places(*Argument);
  if (Given.Objects.empty() || (isPlainFree(Call, TLI) &&
                                getFreedOperand(&Call, &TLI) == Argument.get()))
    return false;
  PointerUse Use = usePointer(Argument, TLI);
  if (!Use.Escape.empty())
    return share(Given, Use.Escape);
  unsigned Number = Call.getArgOperandNo(&Argument);
  bool IsNew = false;
  if (Use.IsInResult) {
    if (!Call.getType()->isPointerTy())
      return share(Given, "an integer is computed from its address");
    Places Found;
    for (auto [Object, At] : Given.Objects)
      Found.Objects.insert({Object, {Anywhere, false}});
    IsNew |= set(Call, Found);
  }
  // Functions of the C library access no memory before the address that is
  // passed to them; other functions may.
  LibFunc Which;
  if (!TLI.getLibFunc(Call, Which))
    for (auto &Each : Given.Objects)
      Each.second = {Anywhere, false};
  if (!Call.onlyReadsMemory(Number))
    for (auto [Object, At] : Given.Objects)
      IsNew |= hold(*Object, {At.Low, false}, ToTheEnd, elsewhere());
  // If the callee may read the memory, the addresses held in the memory escape:
  // the callee may store a loaded address anywhere, or return a part of it as
  // its result.
  if (!Call.onlyWritesMemory(Number))
    IsNew |= share(held(Given, ToTheEnd),
                   "a function is passed memory that holds its address");
  return IsNew;
}

} // namespace vfriendly
