//===- VfDialect.h - The vf dialect -----------------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_MLIR_VFDIALECT_H
#define VFRIENDLY_PASSES_MLIR_VFDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/AllocationOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace vfriendly::vf {

/// The side-effect resource that waits read and write (VfOps.td).
struct TimeResource : mlir::SideEffects::Resource::Base<TimeResource> {
  llvm::StringRef getName() final { return "vf.time"; }
};

/// Minimum size in bytes of a placed object, as in vf_numa_place. 16 pages:
/// smaller objects fit into caches.
inline constexpr int64_t MinPlacedBytes = 64 << 10;

/// Returns the size of a memref with static shape and whole bytes, or nullopt.
std::optional<int64_t> staticBytes(mlir::MemRefType Memref);

/// Returns true if the memref or pointer of this type is in the default memory
/// space, whose addresses the runtime takes.
bool isInDefaultSpace(mlir::Type Address);

/// Registers the lowering of the dialect to calls of libvfrt, for
/// -convert-to-llvm.
void registerConvertVfToLLVMInterface(mlir::DialectRegistry &Registry);

} // namespace vfriendly::vf

#include "VfEnums.h.inc"

#include "VfDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "VfTypes.h.inc"
#define GET_OP_CLASSES
#include "VfOps.h.inc"

#endif
