//===- LoopAllocationCheck.h - vfriendly-heap-churn-loop-allocation *- C++
//-*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_LOOPALLOCATIONCHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_LOOPALLOCATIONCHECK_H

#include "checkers/heap-churn/HeapCheck.h"

namespace vfriendly::tidy {

/// Reports memory that a loop allocates and releases in each iteration.
class LoopAllocationCheck : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
};

} // namespace vfriendly::tidy

#endif
