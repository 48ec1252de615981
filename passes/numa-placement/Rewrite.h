//===- Rewrite.h - Insertion of vf_numa_place calls -------------*- C++ -*-===//
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

/// The size of an allocation: the product of Factors and Constant.
struct AllocationSize {
  llvm::SmallVector<llvm::Value *, 2> Factors;
  uint64_t Constant = 1;
  bool isConstant() const { return Factors.empty(); }
};

/// Returns true if Call allocates memory that has not been written, and sets
/// Size.
bool isFreshAllocation(llvm::CallBase &Call, const llvm::TargetLibraryInfo &TLI,
                       AllocationSize &Size);

/// Returns true if F returns the result of Allocation and otherwise only
/// compares it with null: each call of F then creates an object of its own.
bool isWrapperOf(const llvm::Function &F, const llvm::CallBase &Allocation);

/// Sets Size to the size that Call allocates; Call calls F, a wrapper of an
/// allocation of size Inside. Returns false if the size is not computable
/// outside of F.
bool sizeAt(const llvm::CallBase &Call, const AllocationSize &Inside,
            AllocationSize &Size);

/// Returns true if Root has been placed by an earlier run of the pass, as at
/// link time.
bool isMarkedPlaced(const llvm::Value &Root);

/// Inserts a call of vf_numa_place_if_linked after Call, an allocation of Size
/// bytes.
void placeAfter(llvm::CallBase &Call, const AllocationSize &Size,
                bool InBlocks);

/// Inserts calls of vf_numa_place_if_linked for static arrays into a
/// constructor, which runs before main.
void placeBeforeMain(llvm::Module &M,
                     llvm::ArrayRef<std::pair<llvm::GlobalVariable *, bool>>
                         ArraysAndWhetherInBlocks);

/// Adds to M the definition of vf_numa_place_if_linked, if M contains calls of
/// this function.
void linkPlaceFallback(llvm::Module &M);

} // namespace vfriendly

#endif
