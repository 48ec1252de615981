//===- ShootdownCallsCheck.h - Shootdown calls in loops ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_SHOOTDOWNCALLSCHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_SHOOTDOWNCALLSCHECK_H

#include "checkers/heap-churn/HeapCheck.h"

namespace vfriendly::tidy {

/// Reports system calls in loops that interrupt every CPU of the process each
/// time.
class ShootdownCallsCheck : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
};

} // namespace vfriendly::tidy

#endif
