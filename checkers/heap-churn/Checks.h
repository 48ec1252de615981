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
class ConsecutiveCheck final : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
};

/// Reports blocks that are resized by constant amounts, and so are copied again
/// and again.
class GrowthCheck final : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
};

/// Reports memory that is released only after a long phase that does not use
/// it.
class HeldCheck final : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
};

/// Reports loops that release in reverse order what was allocated in ascending
/// order.
class ReverseFreeCheck final : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
};

} // namespace vfriendly::tidy

#endif
