// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vf-pool-allocs takes a buffer from a pool if its size is computed in the loop, even
// from a constant. The affine dialect does not take memref.dim of vf.pool.alloc as a
// symbol, so that the module does not verify any more.
//
// REQUIRES: mlir
// XFAIL: *
// RUN: vf-opt %s --vf-pool-allocs | FileCheck %s
// CHECK: affine.for

func.func @f(%lo: index, %hi: index, %v: f32) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %c0 = arith.constant 0 : index
    %n = arith.constant 100 : index
    %m = memref.alloc(%n) : memref<?xf32>
    %d = memref.dim %m, %c0 : memref<?xf32>
    affine.for %j = 0 to %d {
      affine.store %v, %m[%j] : memref<?xf32>
    }
    memref.dealloc %m : memref<?xf32>
  }
  return
}
