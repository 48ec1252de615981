//===- vf-opt.cpp - mlir-opt with the vf dialect --------------------------===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/mlir/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int Argc, char **Argv) {
  mlir::DialectRegistry Registry;
  mlir::registerAllDialects(Registry);
  mlir::registerAllExtensions(Registry);
  mlir::registerAllPasses();
  vfriendly::vf::registerAll(Registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      Argc, Argv, "mlir-opt with the vf dialect\n", Registry));
}
