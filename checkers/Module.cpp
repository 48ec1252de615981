//===- Module.cpp - The clang-tidy module ---------------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   clang-tidy --load=libvfriendly-tidy.so --checks='-*,vfriendly-*' …
//
// Only registers the checks; their list is generated from the catalogue. Guard
// must be the first static object: static objects are initialized in the order
// of their definition, and Guard ends a clang-tidy of another version before
// the module is registered.
//
//===----------------------------------------------------------------------===//

#include "checkers/common/VersionGuard.h"
#include "vfriendly/Checks.h"

#include "clang-tidy/ClangTidyModule.h"
#include "llvm/Support/Registry.h"

using namespace clang::tidy;

namespace {

const vfriendly::tidy::VersionGuard Guard;

class VfriendlyModule : public ClangTidyModule {
public:
  void addCheckFactories(ClangTidyCheckFactories &Factories) override {
    vfriendly::tidy::addChecks(Factories);
  }
};

// Registers the module. This names the type llvm::Registry<ClangTidyModule> and
// not its alias ClangTidyModuleRegistry, because versions of clang-tidy declare
// the alias in different headers.
const llvm::Registry<ClangTidyModule>::Add<VfriendlyModule>
    Registered("vfriendly-module", "Adds the checks of vfriendly.");

} // namespace
