//===- Allocation.h - Heap memory that a function keeps to itself -*- C++
//-*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   auto Found = followAllocation(Call, TLI);
//   if (!Found.Known)
//     ... Found.Why ...
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_ALLOCATION_H
#define VFRIENDLY_PASSES_HEAPCHURN_ALLOCATION_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class CallBase;
class ICmpInst;
class Instruction;
class TargetLibraryInfo;
} // namespace llvm

namespace vfriendly {

/// A call that allocates, and all that is done with its memory.
struct Allocation {
  llvm::CallBase *Call;
  llvm::SmallVector<llvm::CallBase *, 2> Frees;
  /// Comparisons with null.
  llvm::SmallVector<llvm::ICmpInst *, 2> Tests;
  /// Calls that are given its address, and forget it.
  llvm::SmallVector<llvm::CallBase *, 4> Borrowers;
  /// All of these, and what reads and writes it.
  llvm::SmallVector<llvm::Instruction *, 8> Users;
  /// Whether nothing else is done with it. If not, Why says what is.
  bool Known = true;
  llvm::StringRef Why;
};

/// May LLVM remove it, as far as its callee goes?
bool isPlainAllocation(const llvm::CallBase &Call,
                       const llvm::TargetLibraryInfo &TLI);

/// pre: isPlainAllocation(Call).
Allocation followAllocation(llvm::CallBase &Call,
                            const llvm::TargetLibraryInfo &TLI);

} // namespace vfriendly

#endif
