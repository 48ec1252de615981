//===- Passes.td - Passes on the vf dialect ----------------*- tablegen -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_VF_PASSES
#define VFRIENDLY_VF_PASSES

include "mlir/Pass/PassBase.td"

def VfSpinToWait : Pass<"vf-spin-to-wait", "::mlir::ModuleOp"> {
  let summary = "Makes loops that poll memory wait in the runtime";
  let description = [{
    Rewrites `scf.while` loops, and loops of `cf` or LLVM-dialect blocks, that do
    nothing but poll one place in memory: each failed poll calls
    `vf.spin_wait`, and the loop still tests its own condition.
  }];
  let dependentDialects = ["::vfriendly::vf::VfDialect", "::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def VfPoolAllocs : Pass<"vf-pool-allocs", "::mlir::ModuleOp"> {
  let summary = "Allocates once what each iteration allocates and frees";
  let description = [{
    Hoists `memref.alloc` with its `memref.dealloc` out of a loop if the size is
    the same in each iteration, and otherwise replaces it by an allocation from a
    pool.
  }];
  let dependentDialects = ["::vfriendly::vf::VfDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def VfFirstTouch : Pass<"vf-first-touch", "::mlir::ModuleOp"> {
  let summary = "Places memory that serial code fills and parallel loops use";
  let description = [{
    Inserts `vf.numa.place` after the allocation of a memref that serial code
    writes first and an `scf.parallel` or `omp.parallel` region uses: `blocks`
    where the outermost parallel induction variable indexes the outermost
    dimension, else `r4k`. Memrefs smaller than 64 KiB are not placed.
  }];
  let dependentDialects = ["::vfriendly::vf::VfDialect"];
}

def ConvertVfToLLVM : Pass<"convert-vf-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lowers the vf dialect to calls into libvfrt";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // VFRIENDLY_VF_PASSES
