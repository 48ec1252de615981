//===- Checks.h - The checks vfriendly-numa-placement-* ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One check for each way to lose locality, each in the file of its name.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_CHECKS_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_CHECKS_H

#include "checkers/numa-placement/NumaCheck.h"

namespace vfriendly::tidy {

/// Reports threads that are pinned to CPUs by numbers that do not come from an
/// affinity set.
class FixedCpuCheck final : public NumaCheck {
public:
  using NumaCheck::NumaCheck;

private:
  void inspect(const UnitValues &Values,
               const clang::ASTContext &Context) override;
};

/// Reports serial loops that fill an array which threads use afterwards.
class SerialInitCheck final : public NumaCheck {
public:
  using NumaCheck::NumaCheck;

private:
  void inspect(const UnitValues &Values,
               const clang::ASTContext &Context) override;
};

/// Reports arrays in which each thread writes an element of its own, but
/// several of these elements share a cache line.
class SharedLineCheck final : public NumaCheck {
public:
  using NumaCheck::NumaCheck;

private:
  void inspect(const UnitValues &Values,
               const clang::ASTContext &Context) override;
};

} // namespace vfriendly::tidy

#endif
