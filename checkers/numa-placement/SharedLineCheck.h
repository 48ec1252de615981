//===- SharedLineCheck.h - vfriendly-numa-placement-shared-line -*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_SHAREDLINECHECK_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_SHAREDLINECHECK_H

#include "checkers/numa-placement/NumaCheck.h"

namespace vfriendly::tidy {

/// Reports arrays in which each thread writes an element of its own, but
/// several of these elements share a cache line.
class SharedLineCheck : public NumaCheck {
public:
  using NumaCheck::NumaCheck;

private:
  void inspect(const UnitValues &Values,
               const clang::ASTContext &Context) override;
};

} // namespace vfriendly::tidy

#endif
