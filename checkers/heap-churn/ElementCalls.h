//===- ElementCalls.h - Allocation and release of elements ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_ELEMENTCALLS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_ELEMENTCALLS_H

#include "checkers/heap-churn/FunctionView.h"

namespace vfriendly::tidy {

/// A call that allocates or releases an array's element, `a[i] = malloc(n)` or
/// `free(a[i])`, in a loop that changes i.
struct ElementCall {
  const HeapCall *Call = nullptr;
  const clang::ValueDecl *Array = nullptr; ///< A variable or a member.
  const clang::Expr *Index = nullptr;
  const clang::Stmt *Loop = nullptr;
};

llvm::SmallVector<ElementCall, 4> allocationsOfElements(FunctionView &View);
llvm::SmallVector<ElementCall, 4> releasesOfElements(FunctionView &View);

/// Returns true if Release is in a loop that undoes the allocations before a
/// failed one: the index of Release counts down from the counter of Allocation.
bool unwinds(const ElementCall &Allocation, const ElementCall &Release,
             const FunctionView &View);

} // namespace vfriendly::tidy

#endif
