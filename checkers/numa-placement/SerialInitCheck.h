//===- SerialInitCheck.h - vfriendly-numa-placement-serial-init -*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_NUMAPLACEMENT_SERIALINITCHECK_H
#define VFRIENDLY_CHECKERS_NUMAPLACEMENT_SERIALINITCHECK_H

#include "checkers/numa-placement/NumaCheck.h"

namespace vfriendly::tidy {

/// Reports serial loops that fill an array which threads use afterwards.
class SerialInitCheck : public NumaCheck {
public:
  using NumaCheck::NumaCheck;

private:
  void inspect(const UnitValues &Values,
               const clang::ASTContext &Context) override;
};

} // namespace vfriendly::tidy

#endif
