//===- Rewrite.h - Calls of vf_numa_place -----------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_NUMAPLACEMENT_REWRITE_H
#define VFRIENDLY_PASSES_NUMAPLACEMENT_REWRITE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"

namespace llvm {
class TargetLibraryInfo;
} // namespace llvm

namespace vfriendly {

/// What an allocation call takes its size from: the product of Factors, of
/// which Constant is the part that is known.
struct AllocationSize {
  llvm::SmallVector<llvm::Value *, 2> Factors;
  uint64_t Constant = 1;
  bool isConstant() const { return Factors.empty(); }
};

/// Returns true if Call allocates memory that nobody has written yet, and sets
/// Size.
bool isFreshAllocation(llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI,
                       AllocationSize &Size);

/// The calls of F, if F returns what Allocation has returned and does nothing
/// else with it than to compare it with null: each has an object of its own.
bool isWrapperOf(const llvm::Function &F, const llvm::CallBase &Allocation);

/// Where F is a wrapper of an allocation of that size, the size for Call, a
/// call of F; false if it cannot be told outside of F.
bool sizeAt(const llvm::CallBase &Call, const AllocationSize &Inside,
            AllocationSize &Size);

/// On an object that is placed, so that a linker's run of the pass leaves it.
bool isMarkedPlaced(const llvm::Value &Root);

/// After Call, which allocates.
void placeAfter(llvm::CallBase &Call, const AllocationSize &Size,
                bool InBlocks);

/// Before main.
void placeBeforeMain(llvm::Module &M,
                     llvm::ArrayRef<std::pair<llvm::GlobalVariable *, bool>>
                         ArraysAndWhetherInBlocks);

/// Defines what the calls call, if there are any.
void linkPlaceFallback(llvm::Module &M);

} // namespace vfriendly

#endif
