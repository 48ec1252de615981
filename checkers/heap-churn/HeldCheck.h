//===- HeldCheck.h - vfriendly-heap-churn-held ------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HELDCHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HELDCHECK_H

#include "checkers/heap-churn/HeapCheck.h"

namespace vfriendly::tidy {

/// Reports memory that is released only after a long phase that does not use
/// it.
class HeldCheck : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
};

} // namespace vfriendly::tidy

#endif
