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

#include "checkers/common/UnitCheck.h"
#include "checkers/numa-placement/UnitValues.h"

namespace vfriendly::tidy {

/// Finds data that one thread initializes and other threads use, and places
/// each page on the node that uses it.
///
/// The base class of the checks, one check for each way to lose locality. Each
/// receives the values that variables have in the whole translation unit. See
/// guidelines/numa-placement.md.
using NumaCheck = ModelCheck<UnitValues, NumaPlacement>;

/// Reports threads that are pinned to CPUs by numbers that do not come from an
/// affinity set.
struct FixedCpuCheck final : NumaCheck {
  using NumaCheck::NumaCheck;
  void inspect(const UnitValues &, const clang::ASTContext &) override;
};

/// Reports serial loops that fill an array which threads use afterwards.
struct SerialInitCheck final : NumaCheck {
  using NumaCheck::NumaCheck;
  void inspect(const UnitValues &, const clang::ASTContext &) override;

private:
  clang::DiagnosticBuilder
  reportFill(clang::SourceLocation Where, const clang::Stmt &Loop,
             const clang::FunctionDecl &In,
             llvm::ArrayRef<const clang::ValueDecl *> Arrays);
};

/// Reports arrays in which each thread writes an element of its own, but
/// several of these elements share a cache line.
struct SharedLineCheck final : NumaCheck {
  using NumaCheck::NumaCheck;
  void inspect(const UnitValues &, const clang::ASTContext &) override;
};

} // namespace vfriendly::tidy

#endif
