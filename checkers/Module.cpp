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
#include "checkers/heap-churn/ConsecutiveCheck.h"
#include "checkers/heap-churn/GrowthCheck.h"
#include "checkers/heap-churn/HeldCheck.h"
#include "checkers/heap-churn/LoopAllocationCheck.h"
#include "checkers/heap-churn/ReverseFreeCheck.h"
#include "checkers/heap-churn/ShootdownCallsCheck.h"
#include "checkers/spin-loops/SpinLoopsCheck.h"

#include "clang-tidy/ClangTidyModule.h"

using namespace clang::tidy;

namespace {

const vfriendly::tidy::VersionGuard Guard;

class VfriendlyModule : public ClangTidyModule {
public:
  void addCheckFactories(ClangTidyCheckFactories &Factories) override {
    Factories.registerCheck<vfriendly::tidy::ConsecutiveCheck>(
        "vfriendly-heap-churn-consecutive");
    Factories.registerCheck<vfriendly::tidy::GrowthCheck>(
        "vfriendly-heap-churn-growth");
    Factories.registerCheck<vfriendly::tidy::HeldCheck>(
        "vfriendly-heap-churn-held");
    Factories.registerCheck<vfriendly::tidy::LoopAllocationCheck>(
        "vfriendly-heap-churn-loop-allocation");
    Factories.registerCheck<vfriendly::tidy::ReverseFreeCheck>(
        "vfriendly-heap-churn-reverse-free");
    Factories.registerCheck<vfriendly::tidy::ShootdownCallsCheck>(
        "vfriendly-heap-churn-shootdown-calls");
    Factories.registerCheck<vfriendly::tidy::SpinLoopsCheck>(
        "vfriendly-spin-loops");
  }
};

const ClangTidyModuleRegistry::Add<VfriendlyModule>
    Registered("vfriendly-module", "Adds the checks of vfriendly.");

} // namespace
