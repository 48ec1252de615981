//===- SyncCheck.cpp - Base class of blocking-sync checks -----------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkers/blocking-sync/SyncCheck.h"

#include "checkers/common/PerUnit.h"
#include "vfriendly/Catalogue.h"

using namespace clang;

namespace vfriendly::tidy {

SyncCheck::SyncCheck(StringRef Name, clang::tidy::ClangTidyContext *Context)
    : UnitCheck(Name, Context, BlockingSync), Model(perUnit<SyncModel>()) {}

SyncCheck::~SyncCheck() = default;

void SyncCheck::add(const FunctionDecl &Function) { Model->add(Function); }

void SyncCheck::finish(ASTContext &Context) {
  Model->finish();
  inspect(*Model, Context);
}

} // namespace vfriendly::tidy
