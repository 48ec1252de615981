//===- Passes.h - Passes on the vf dialect ----------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_MLIR_PASSES_H
#define VFRIENDLY_PASSES_MLIR_PASSES_H

#include "passes/mlir/VfDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace vfriendly::vf {

#define GEN_PASS_DECL
#include "VfPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "VfPasses.h.inc"

/// Returns true if Op can call libvfrt: it runs on the CPU, and the target has
/// the runtime. Returns false if a region around Op belongs to a device (GPU,
/// SPIR-V, offloading) or to an operation that MLIR does not know.
bool canCallRuntime(mlir::Operation *Op);

/// Registers the passes and the pipeline vf-default, which runs
/// vf-spin-to-wait, vf-first-touch and vf-pool-allocs.
void registerPasses();

/// Registers the dialect, its lowering and the passes, for a tool or a plugin.
void registerAll(mlir::DialectRegistry &Registry);

} // namespace vfriendly::vf

#endif
