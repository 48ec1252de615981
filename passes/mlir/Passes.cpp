//===- Passes.cpp - Registration of the dialect and its passes ------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/mlir/Passes.h"

#include "passes/common/Runtime.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace vfriendly::vf {

/// Returns true if the regions of Op may be compiled for a device. Compares
/// names, so that no dialect of a device has to be loaded.
static bool isForDevice(Operation *Op) {
  StringRef Dialect = Op->getName().getDialectNamespace();
  if (Dialect == "gpu" || Dialect == "spirv" || Dialect == "acc" ||
      Op->getName().getStringRef() == "omp.target")
    return true;
  // Kernels outside gpu.module have an attribute of their target.
  return Op->hasAttr("gpu.kernel") || Op->hasAttr("nvvm.kernel") ||
         Op->hasAttr("rocdl.kernel");
}

bool canCallRuntime(Operation *Op) {
  auto Triple = LLVM::LLVMDialect::getTargetTripleAttrName();
  for (; Op; Op = Op->getParentOp()) {
    if (!Op->isRegistered() || isForDevice(Op))
      return false;
    auto Named = Op->getAttrOfType<StringAttr>(Triple);
    if (Named && !hasRuntime(llvm::Triple(Named.getValue())))
      return false;
  }
  return true;
}

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
