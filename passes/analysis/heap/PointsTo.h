//===- PointsTo.h - Points-to analysis of a function ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   PointsTo Known(F, {&Malloc1, &Malloc2}, TLI);
//   Known.places(*P)        // every object that P may point into
//   Known.whyShared(Malloc1) // empty if only F, and callees before they
//                            // return, read, write or free the block
//
// The analysis is flow-insensitive, and treats all blocks of one allocation or
// alloca instruction as one object: what holds for the object holds for each of
// these blocks.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_HEAP_POINTSTO_H
#define VFRIENDLY_PASSES_ANALYSIS_HEAP_POINTSTO_H

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

/// An offset into an object: Low if IsExact is true, otherwise any offset of at
/// least Low.
struct Offset {
  int64_t Low = 0;
  bool IsExact = true;

  bool operator==(const Offset &O) const {
    return Low == O.Low && IsExact == O.IsExact;
  }
  /// Makes the offset cover Other too. Returns false if it already did.
  bool join(Offset Other);
};

/// The memory locations that a pointer may point to, besides null.
struct Places {
  /// Keyed by the instruction that creates the object: an allocation or an
  /// alloca.
  llvm::SmallMapVector<const llvm::Instruction *, Offset, 2> Objects;
  /// True if the pointer may lead to any memory except objects of the function
  /// that have not escaped.
  bool Elsewhere = false;

  bool join(const Places &Other);
};

class PointsTo {
public:
  /// Computes which of Allocations and of the allocas of F escape.
  PointsTo(llvm::Function &F, llvm::ArrayRef<llvm::CallBase *> Allocations,
           const llvm::TargetLibraryInfo &TLI);

  /// Returns false if F is too large; nothing is known then.
  bool isDone() const { return Done; }

  Places places(const llvm::Value &V) const;

  /// Returns why Object escapes; empty if it does not.
  llvm::StringRef whyShared(const llvm::Instruction &Object) const {
    return Shared.lookup(&Object);
  }

  /// Returns true if the address of Object is stored in some object.
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

  /// Returns the pointers held in Size bytes at Where.
  Places held(const Places &Where, uint64_t Size) const;

  /// Each of these functions returns true if it added a fact to the analysis.
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
  /// Number of analysis steps done so far, to limit compile time.
  mutable size_t Work = 0;
  bool Done = false;
};

} // namespace vfriendly

#endif
