//===- PointsTo.h - Where a function's pointers may lead --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   PointsTo Known(F, {&Malloc1, &Malloc2}, TLI);
//   Known.places(*P)        // every object that P may lead into, or elsewhere
//   Known.whyShared(Malloc1) // empty: only F, and what it calls for the time
//                           // of the call, ever reads, writes or frees it
//
// The order of instructions does not matter here, and each execution of an
// allocation or alloca is the same object: what holds of it holds of all.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_POINTSTO_H
#define VFRIENDLY_PASSES_HEAPCHURN_POINTSTO_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace llvm {
class AnyMemIntrinsic;
class CallBase;
class DataLayout;
class Function;
class Instruction;
class TargetLibraryInfo;
class Type;
class Use;
class Value;
} // namespace llvm

namespace vfriendly {

/// In an object, at Low; or anywhere from there on.
struct Offset {
  int64_t Low = 0;
  bool IsExact = true;

  bool operator==(const Offset &O) const {
    return Low == O.Low && IsExact == O.IsExact;
  }
  /// Makes it hold for Other too; false if it did.
  bool join(Offset Other);
};

/// Where a pointer may lead, besides null.
struct Places {
  /// By what makes them: an allocation or an alloca.
  llvm::SmallMapVector<const llvm::Instruction *, Offset, 2> Objects;
  /// Anywhere but into objects of the function that nobody else knows.
  bool Elsewhere = false;

  bool join(const Places &Other);
};

class PointsTo {
public:
  /// Of Allocations, and the allocas of F, it finds out who knows them.
  PointsTo(llvm::Function &F, llvm::ArrayRef<llvm::CallBase *> Allocations,
           const llvm::TargetLibraryInfo &TLI);

  /// False if F is too large: then nothing is known.
  bool isDone() const { return Done; }

  Places places(const llvm::Value &V) const;

  /// Who else may know Object; empty if nobody does.
  llvm::StringRef whyShared(const llvm::Instruction &Object) const {
    return Shared.lookup(&Object);
  }

  /// Returns true if its address is stored in some object.
  bool isHeld(const llvm::Instruction &Object) const;

private:
  struct Cell {
    Offset At;
    uint64_t Size;
    Places Held;

    bool overlaps(Offset Where, uint64_t Bytes) const;
  };

  bool visit(llvm::Instruction &I);
  bool visitCall(llvm::CallBase &Call);
  bool visitArgument(llvm::CallBase &Call, llvm::Use &Argument);
  bool visitCopy(llvm::AnyMemIntrinsic &Copy);
  bool visitLoad(llvm::Instruction &Load, llvm::Value &Address,
                 llvm::Type &Type);
  bool visitStore(llvm::Value &Stored, llvm::Value &Address);
  bool joinAll(llvm::Instruction &I);

  /// What is in Size bytes there.
  Places held(const Places &Where, uint64_t Size) const;

  /// These say whether anything is new.
  bool set(const llvm::Instruction &I, const Places &P);
  bool hold(const llvm::Instruction &Object, Offset At, uint64_t Size,
            const Places &Held);
  bool share(const Places &P, llvm::StringRef Why);
  bool shareOperands(llvm::Instruction &I, llvm::StringRef Why);

  const llvm::TargetLibraryInfo &TLI;
  const llvm::DataLayout &DL;
  llvm::SmallPtrSet<const llvm::Instruction *, 8> Allocations;
  llvm::DenseMap<const llvm::Value *, Places> Known;
  llvm::DenseMap<const llvm::Instruction *, llvm::SmallVector<Cell, 4>> Cells;
  llvm::DenseMap<const llvm::Instruction *, llvm::StringRef> Shared;
  /// How much was looked at so far.
  mutable size_t Work = 0;
  bool Done = false;
};

} // namespace vfriendly

#endif
