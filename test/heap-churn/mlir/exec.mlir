// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum of what buffers of the same and of growing size held, before and after.
//
// REQUIRES: mlir
// RUN: vf-opt %s --pass-pipeline='builtin.module(%vf_to_llvm)' | %vf_mlir_run | FileCheck %s
// RUN: vf-opt %s --pass-pipeline='builtin.module(vf-pool-allocs,%vf_to_llvm)' > %t.mlir
// RUN: FileCheck %s --check-prefix=CALLS < %t.mlir
// RUN: %vf_mlir_run %t.mlir | FileCheck %s
// CHECK: 323400
// CALLS: llvm.call @vf_pool_alloc

func.func @main() -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 100 : index
  %zero = arith.constant 0 : i32
  %sum = scf.for %i = %c1 to %n step %c1 iter_args(%s = %zero) -> i32 {
    %same = memref.alloc(%n) : memref<?xi32>
    %grows = memref.alloc(%i) : memref<?xi32>
    scf.for %j = %c0 to %i step %c1 {
      %v = arith.index_cast %j : index to i32
      memref.store %v, %same[%j] : memref<?xi32>
      memref.store %v, %grows[%j] : memref<?xi32>
    }
    %t = scf.for %j = %c0 to %i step %c1 iter_args(%u = %s) -> i32 {
      %a = memref.load %same[%j] : memref<?xi32>
      %b = memref.load %grows[%j] : memref<?xi32>
      %u1 = arith.addi %u, %a : i32
      %u2 = arith.addi %u1, %b : i32
      scf.yield %u2 : i32
    }
    memref.dealloc %same : memref<?xi32>
    memref.dealloc %grows : memref<?xi32>
    scf.yield %t : i32
  }
  return %sum : i32
}
