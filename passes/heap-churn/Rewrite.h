//===- Rewrite.h - Heap memory into other places ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_HEAPCHURN_REWRITE_H
#define VFRIENDLY_PASSES_HEAPCHURN_REWRITE_H

#include "passes/heap-churn/Allocation.h"

#include <cstdint>

namespace llvm {
class DominatorTree;
class Loop;
class LoopInfo;
class TargetLibraryInfo;
} // namespace llvm

namespace vfriendly {

/// Of a constant size that is small enough for a stack frame; 0 if it is not.
uint64_t stackSize(const Allocation &A, const llvm::TargetLibraryInfo &TLI);

/// Into a variable of the entry block. The call and its frees are gone then.
///
/// pre: stackSize(A) != 0.
void moveToStack(const Allocation &A, uint64_t Size,
                 const llvm::TargetLibraryInfo &TLI);

/// Why the memory of A, which L takes and frees in each round, cannot be the
/// same in all of them; empty if it can.
///
/// pre: L contains A.
llvm::StringRef whyNotHoist(const Allocation &A, const llvm::Loop &L,
                            const llvm::DominatorTree &DT,
                            const llvm::LoopInfo &LI,
                            const llvm::TargetLibraryInfo &TLI);

/// Takes it when it is needed first, and frees it where L is left. The frees in
/// L are gone then.
///
/// pre: whyNotHoist is empty, and L is in simplified form.
void hoist(const Allocation &A, llvm::Loop &L, llvm::DominatorTree &DT,
           llvm::LoopInfo &LI, const llvm::TargetLibraryInfo &TLI);

} // namespace vfriendly

#endif
