//===- ReverseFreeCheck.h - vfriendly-heap-churn-reverse-free ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_REVERSEFREECHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_REVERSEFREECHECK_H

#include "checkers/heap-churn/HeapCheck.h"

namespace vfriendly::tidy {

/// Reports loops that release in reverse order what was allocated in ascending
/// order.
class ReverseFreeCheck : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
};

} // namespace vfriendly::tidy

#endif
