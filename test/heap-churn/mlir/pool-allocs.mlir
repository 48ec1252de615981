// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// REQUIRES: mlir
// RUN: vf-opt %s --vf-pool-allocs --remarks-filter='vf-pool-allocs' --remark-policy=all 2>&1 | FileCheck %s
// RUN: %vf_mlir_opt %s --pass-pipeline='builtin.module(vf-pool-allocs)' | FileCheck %s --check-prefixes=CODE
// CHECK-DAG: allocated once for all iterations
// CHECK-DAG: allocated from a pool: its size differs
// CHECK-DAG: kept: the next iteration uses it
// CHECK-DAG: kept: it is not freed in every iteration
// CHECK-DAG: kept: its size is changed
// CHECK-DAG: kept: it is not freed in the loop
// CHECK-DAG: kept: it is not in the default memory space
// CHECK-DAG: kept: its size differs between iterations, and pools do not support its layout
// CHECK-DAG: kept: its size differs between iterations, and it is placed on NUMA nodes before it is written

// Out of both loops.
// CODE-LABEL: func @hoisted
// CODE: memref.alloc(
// CODE: scf.for
// CODE: affine.for
// CODE: memref.store
// CODE: memref.dealloc
func.func @hoisted(%n: index, %a: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    affine.for %j = 0 to 10 {
      %m = memref.alloc(%a) {alignment = 64 : i64} : memref<?xf32>
      memref.store %v, %m[%c0] : memref<?xf32>
      memref.dealloc %m : memref<?xf32>
    }
  }
  return
}

// Out of the inner loop, by whose number the size does not differ; then a pool.
// CODE-LABEL: func @pooled
// CODE: %[[P:.*]] = vf.pool.create
// CODE: scf.for %[[I:.*]] =
// CODE:   %[[M:.*]] = vf.pool.alloc %[[P]](%[[I]]) {alignment = 16 : i64} : memref<?xf32>
// CODE:   scf.for
// CODE:   vf.pool.free %[[P]], %[[M]]
// CODE: vf.pool.destroy %[[P]]
func.func @pooled(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %m = memref.alloc(%i) {alignment = 16 : i64} : memref<?xf32>
      memref.store %v, %m[%c0] : memref<?xf32>
      memref.dealloc %m : memref<?xf32>
    }
  }
  return
}

// Each iteration of a parallel loop needs its own.
// CODE-LABEL: func @parallel
// CODE: scf.parallel
// CODE: memref.alloc
func.func @parallel(%n: index, %a: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %m = memref.alloc(%a) : memref<?xf32>
    memref.store %v, %m[%c0] : memref<?xf32>
    memref.dealloc %m : memref<?xf32>
  }
  return
}

// It would be freed while the next iteration has it.
// CODE-LABEL: func @carried
// CODE: scf.for
// CODE: memref.alloc
func.func @carried(%n: index, %a: index, %first: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%last = %first) -> memref<?xf32> {
    %m = memref.alloc(%a) : memref<?xf32>
    memref.copy %last, %m : memref<?xf32> to memref<?xf32>
    scf.yield %m : memref<?xf32>
  }
  return %r : memref<?xf32>
}

// Where the branch is not taken it lives on.
// CODE-LABEL: func @sometimes
// CODE: scf.for
// CODE: memref.alloc
func.func @sometimes(%n: index, %a: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloc(%a) : memref<?xf32>
    scf.if %c {
      memref.dealloc %m : memref<?xf32>
    }
  }
  return
}

// The release is of another buffer.
// CODE-LABEL: func @resized
// CODE: scf.for
// CODE: memref.alloc
func.func @resized(%n: index, %a: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloc(%a) : memref<?xf32>
    %k = memref.realloc %m(%i) : memref<?xf32> to memref<?xf32>
    memref.dealloc %k : memref<?xf32>
  }
  return
}

// Somebody else frees it.
// CODE-LABEL: func @given
// CODE: scf.for
// CODE: memref.alloc
func.func private @take(memref<?xf32>)
func.func @given(%n: index, %a: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloc(%a) : memref<?xf32>
    func.call @take(%m) : (memref<?xf32>) -> ()
  }
  return
}

// The memory of a device may have rules of its own.
// CODE-LABEL: func @space
// CODE: scf.for
// CODE: memref.alloc
func.func @space(%n: index, %a: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloc(%a) : memref<?xf32, 3>
    memref.dealloc %m : memref<?xf32, 3>
  }
  return
}

// A pool has the identity layout only.
// CODE-LABEL: func @layout
// CODE: scf.for
// CODE: memref.alloc
func.func @layout(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloc(%i) : memref<4x?xf32, affine_map<(d0, d1) -> (d1, d0)>>
    memref.dealloc %m : memref<4x?xf32, affine_map<(d0, d1) -> (d1, d0)>>
  }
  return
}

// Placement must precede the first write: it is hoisted with its memref, and memory of a pool
// may have been written.
// CODE-LABEL: func @placed
// CODE: memref.alloc
// CODE-NEXT: vf.numa.place
// CODE-NEXT: scf.for
// CODE-NEXT: memref.alloc
// CODE-NEXT: vf.numa.place
func.func @placed(%n: index, %a: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.alloc(%a) : memref<?xf32>
    vf.numa.place %m, blocks : memref<?xf32>
    %g = memref.alloc(%i) : memref<?xf32>
    vf.numa.place %g, blocks : memref<?xf32>
    memref.dealloc %g : memref<?xf32>
    memref.dealloc %m : memref<?xf32>
  }
  return
}
