//===- LoopAllocationCheck.h - Allocations in loops -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_LOOPALLOCATIONCHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_LOOPALLOCATIONCHECK_H

#include "checkers/heap-churn/HeapCheck.h"
#include "checkers/heap-churn/LoweredHeap.h"

namespace vfriendly::tidy {

/// Reports memory that a loop allocates and releases in each iteration.
///
/// The check finds such blocks in the IR of the unit (LoweredHeap.h). From the
/// AST it learns whether the loop is worth a report, and what to change.
class LoopAllocationCheck : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
  void finish(clang::ASTContext &Context) override;
  void reportBlock(const LoweredBlock &Block);

  LoweredHeap Lowered;
  /// Local variables that were reported, and the expressions that allocate
  /// their memory.
  llvm::SmallPtrSet<const void *, 8> Reported;
};

} // namespace vfriendly::tidy

#endif
