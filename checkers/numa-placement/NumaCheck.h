//===- NumaCheck.h - Base class of numa-placement checks --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_NUMACHECK_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_NUMACHECK_H

#include "checkers/common/UnitCheck.h"
#include "checkers/numa-placement/UnitValues.h"

namespace vfriendly::tidy {

/// Finds data that one thread initializes and other threads use, and places
/// each page on the node that uses it.
///
/// The base class of the checks, one check for each way to lose locality. Each
/// receives the values that variables have in the whole translation unit. See
/// guidelines/numa-placement.md.
class NumaCheck : public UnitCheck {
public:
  NumaCheck(llvm::StringRef Name, clang::tidy::ClangTidyContext *Context);
  ~NumaCheck() override;

protected:
  /// Inspects the unit. Called once, when all functions are known.
  virtual void inspect(const UnitValues &Values,
                       const clang::ASTContext &Context) = 0;

private:
  void add(const clang::FunctionDecl &Function) final;
  void finish(clang::ASTContext &Context) final;

  std::shared_ptr<UnitValues> Values; ///< Shared by all checks of the unit.
};

} // namespace vfriendly::tidy

#endif
