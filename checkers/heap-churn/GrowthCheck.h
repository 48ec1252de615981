//===- GrowthCheck.h - vfriendly-heap-churn-growth --------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_GROWTHCHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_GROWTHCHECK_H

#include "checkers/heap-churn/HeapCheck.h"

namespace vfriendly::tidy {

/// Reports blocks that are resized by constant amounts, and so are copied again
/// and again.
class GrowthCheck : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
};

} // namespace vfriendly::tidy

#endif
