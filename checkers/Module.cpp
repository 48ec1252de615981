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
// Registration only. The guard comes first: static initialisers run in order.
//
//===----------------------------------------------------------------------===//

#include "checkers/common/VersionGuard.h"
#include "checkers/spin-loops/SpinLoopsCheck.h"

#include "clang-tidy/ClangTidyModule.h"

using namespace clang::tidy;

namespace {

const vfriendly::tidy::VersionGuard Guard;

class VfriendlyModule : public ClangTidyModule {
public:
  void addCheckFactories(ClangTidyCheckFactories &Factories) override {
    Factories.registerCheck<vfriendly::tidy::SpinLoopsCheck>(
        "vfriendly-spin-loops");
  }
};

const ClangTidyModuleRegistry::Add<VfriendlyModule>
    Registered("vfriendly-module", "Adds the checks of vfriendly.");

} // namespace
