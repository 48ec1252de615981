//===- Checks.h - The checks vfriendly-heap-churn-* -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One check for each behaviour of the heap that needs no state of its own, each
// in the file of its name.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_CHECKS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_CHECKS_H

#include "checkers/heap-churn/HeapCheck.h"

namespace vfriendly::tidy {

/// Reports loops that allocate elements which are released together.
struct ConsecutiveCheck final : HeapCheck {
  using HeapCheck::HeapCheck;
  void inspect(FunctionView &) override;
};

/// Reports blocks that are resized by constant amounts, and so are copied again
/// and again.
struct GrowthCheck final : HeapCheck {
  using HeapCheck::HeapCheck;
  void inspect(FunctionView &) override;
};

/// Reports memory that is released only after a long phase that does not use
/// it.
struct HeldCheck final : HeapCheck {
  using HeapCheck::HeapCheck;
  void inspect(FunctionView &) override;
};

/// Reports loops that release in reverse order what was allocated in ascending
/// order.
struct ReverseFreeCheck final : HeapCheck {
  using HeapCheck::HeapCheck;
  void inspect(FunctionView &) override;
};

} // namespace vfriendly::tidy

#endif
