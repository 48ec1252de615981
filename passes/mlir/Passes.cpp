//===- Passes.cpp - Registration of the dialect and its passes ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/mlir/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace vfriendly::vf {

void registerPasses() {
  registerVfPasses();
  PassPipelineRegistration<>("vf-default",
                             "What vfriendly does to a program by default",
                             [](OpPassManager &PM) {
                               PM.addPass(createVfSpinToWait());
                               // vf-first-touch inserts operations after
                               // allocations, so it runs before vf-pool-allocs
                               // moves these.
                               PM.addPass(createVfFirstTouch());
                               PM.addPass(createVfPoolAllocs());
                             });
}

void registerAll(DialectRegistry &Registry) {
  Registry.insert<VfDialect>();
  registerConvertVfToLLVMInterface(Registry);
  registerPasses();
}

} // namespace vfriendly::vf
