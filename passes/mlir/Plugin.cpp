//===- Plugin.cpp - libvfriendly-mlir.so, for mlir-opt --------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   mlir-opt --load-dialect-plugin=libvfriendly-mlir.so
//            --pass-pipeline='builtin.module(vf-default)' in.mlir
//
// Loading the dialect also registers the passes, so the option
// --load-pass-plugin is not needed.
//
//===----------------------------------------------------------------------===//

#include "passes/mlir/Passes.h"
#include "passes/plugin/VersionGuard.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"

extern "C" __attribute__((visibility("default"))) mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  vfriendly::requireMatchingLLVM();
  return {MLIR_PLUGIN_API_VERSION, "vfriendly", "0.1.0",
          [](mlir::DialectRegistry *Registry) {
            vfriendly::vf::registerAll(*Registry);
          }};
}

extern "C" __attribute__((visibility("default"))) mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  vfriendly::requireMatchingLLVM();
  return {MLIR_PLUGIN_API_VERSION, "vfriendly", "0.1.0",
          vfriendly::vf::registerPasses};
}
