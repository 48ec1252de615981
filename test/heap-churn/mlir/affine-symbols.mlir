// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The size of a memref.alloc can be a symbol of affine operations; the dimension of a
// vf.pool.alloc never is one. Modules stay valid.
//
// REQUIRES: mlir
// RUN: vf-opt %s --vf-pool-allocs | FileCheck %s

// A constant of the loop, and what is computed from it, is the same in each iteration.
// CHECK-LABEL: func @constant
// CHECK: %[[N:.*]] = arith.constant 100 : index
// CHECK: %[[S:.*]] = affine.apply {{.*}}[%[[N]]]
// CHECK: memref.alloc(%[[S]])
// CHECK: scf.for
// CHECK: affine.for
// CHECK: memref.dealloc
func.func @constant(%lo: index, %hi: index, %v: f32) {
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %c0 = arith.constant 0 : index
    %n = arith.constant 100 : index
    %s = affine.apply affine_map<()[s] -> (s + 1)>()[%n]
    %m = memref.alloc(%s) : memref<?xf32>
    %d = memref.dim %m, %c0 : memref<?xf32>
    affine.for %j = 0 to %d {
      affine.store %v, %m[%j] : memref<?xf32>
    }
    memref.dealloc %m : memref<?xf32>
  }
  return
}

// The division by zero would come before the loop, which may have no iteration.
// CHECK-LABEL: func @traps
// CHECK: scf.for
// CHECK: arith.divsi
// CHECK: vf.pool.alloc
func.func @traps(%lo: index, %hi: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %s = arith.divsi %hi, %lo : index
    %m = memref.alloc(%s) : memref<?xf32>
    memref.store %v, %m[%c0] : memref<?xf32>
    memref.dealloc %m : memref<?xf32>
  }
  return
}

// The dimension of an unranked memref is a symbol, and may trap as well. Each affine
// operation gets the size in place of the dimension, also through a cast, and a constant for
// a dimension that is static.
// CHECK-LABEL: func @symbols
// CHECK: scf.for
// CHECK: %[[S:.*]] = memref.dim %{{.*}} : memref<*xf32>
// CHECK: vf.pool.alloc %{{.*}}(%[[S]]) : memref<?x4xf32>
// CHECK-NOT: memref.dim
// CHECK: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK: affine.for %[[J:.*]] = 0 to %[[S]]
// CHECK: affine.for %[[K:.*]] = 0 to %[[FOUR]]
// CHECK: affine.min #{{.*}}(%[[J]])[%[[S]]]
// CHECK: affine.if #{{.*}}(%[[J]])[%[[S]]]
// CHECK: affine.load %{{.*}}[%[[J]], symbol(%[[FOUR]]) - 1]
// CHECK: affine.parallel (%{{.*}}) = (0) to (symbol(%[[S]]))
func.func @symbols(%sizes: memref<*xf32>, %lo: index, %hi: index, %v: f32, %out: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %s = memref.dim %sizes, %c0 : memref<*xf32>
    %m = memref.alloc(%s) : memref<?x4xf32>
    %cast = memref.cast %m : memref<?x4xf32> to memref<?x?xf32>
    %d0 = memref.dim %cast, %c0 : memref<?x?xf32>
    %d1 = memref.dim %m, %c1 : memref<?x4xf32>
    affine.for %j = 0 to %d0 {
      affine.for %k = 0 to %d1 {
        affine.store %v, %m[%j, %k] : memref<?x4xf32>
      }
      %least = affine.min affine_map<(d)[s] -> (d, s - 1)>(%j)[%d0]
      affine.store %least, %out[%j] : memref<?xindex>
      affine.if affine_set<(d)[s] : (s - d - 2 >= 0)>(%j)[%d0] {
        %w = affine.load %m[%j, symbol(%d1) - 1] : memref<?x4xf32>
        affine.store %w, %m[%j, 0] : memref<?x4xf32>
      }
    }
    affine.parallel (%j) = (0) to (symbol(%d0)) {
      affine.store %v, %m[%j, 0] : memref<?x4xf32>
    }
    memref.dealloc %m : memref<?x4xf32>
  }
  return
}

// What a scope of its own asks for a dimension is a symbol there by its place; the size is
// none, and stays out of it.
// CHECK-LABEL: func @scope
// CHECK: vf.pool.alloc
// CHECK: gpu.launch
// CHECK: %[[D:.*]] = memref.dim
// CHECK: affine.for %{{.*}} = 0 to %[[D]]
func.func @scope(%lo: index, %hi: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %lo to %hi step %c1 {
    %m = memref.alloc(%i) : memref<?xf32>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %d = memref.dim %m, %c0 : memref<?xf32>
      affine.for %j = 0 to %d {
        affine.store %v, %m[%j] : memref<?xf32>
      }
      gpu.terminator
    }
    memref.dealloc %m : memref<?xf32>
  }
  return
}
