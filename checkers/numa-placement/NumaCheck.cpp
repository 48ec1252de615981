//===- NumaCheck.cpp - Base class of numa-placement checks ----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/numa-placement/NumaCheck.h"

#include "checkers/common/PerUnit.h"
#include "vfriendly/Catalogue.h"

using namespace clang;

namespace vfriendly::tidy {

NumaCheck::NumaCheck(StringRef Name, clang::tidy::ClangTidyContext *Context)
    : UnitCheck(Name, Context, NumaPlacement), Values(perUnit<UnitValues>()) {}

NumaCheck::~NumaCheck() = default;

void NumaCheck::add(const FunctionDecl &Function) { Values->add(Function); }

void NumaCheck::finish(ASTContext &Context) { inspect(*Values, Context); }

} // namespace vfriendly::tidy
