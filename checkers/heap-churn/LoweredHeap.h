//===- LoweredHeap.h - Analysis of heap use in LLVM IR ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generates LLVM IR for those functions of a unit that use the heap in loops,
// inlines their callees, and runs the analysis of the LLVM pass
// (passes/heap-churn/IterationBlocks.h). The check therefore also finds
// allocations in wrappers, constructors and destructors.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_LOWEREDHEAP_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_LOWEREDHEAP_H

#include "checkers/heap-churn/HeapCalls.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace vfriendly::tidy {

/// A place in the source, as debug information describes it. The path File is
/// relative to the working directory of the compilation.
struct LoweredPlace {
  std::string File;
  unsigned Line = 0, Column = 0;
};

/// A block that each iteration of a loop of the function In allocates and
/// releases (IterationBlocks.h). Both places are in In: an operation in an
/// inlined callee has the place of the callee's call.
struct LoweredBlock {
  const clang::FunctionDecl *In;
  LoweredPlace Allocated, Released;
};

/// Finds the blocks that loops of Functions allocate and release in each
/// iteration. Functions are the unit's definitions outside of system headers.
/// Returns nothing if IR is needed but cannot be generated, for example because
/// the unit has errors.
std::optional<std::vector<LoweredBlock>>
findLoweredBlocks(clang::ASTContext &Context, HeapCalls &Heap,
                  llvm::ArrayRef<const clang::FunctionDecl *> Functions);

} // namespace vfriendly::tidy

#endif
