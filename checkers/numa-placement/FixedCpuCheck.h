//===- FixedCpuCheck.h - vfriendly-numa-placement-fixed-cpu -----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_FIXEDCPUCHECK_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_FIXEDCPUCHECK_H

#include "checkers/numa-placement/NumaCheck.h"

namespace vfriendly::tidy {

/// Reports threads that are pinned to CPUs by numbers that do not come from an
/// affinity set.
class FixedCpuCheck : public NumaCheck {
public:
  using NumaCheck::NumaCheck;

private:
  void inspect(const UnitValues &Values,
               const clang::ASTContext &Context) override;
};

} // namespace vfriendly::tidy

#endif
