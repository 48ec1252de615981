// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// REQUIRES: mlir
// RUN: vf-opt %s --canonicalize | FileCheck %s

// A pool and its blocks that nothing uses are not needed.
// CHECK-LABEL: func @unused
// CHECK-NEXT: return
func.func @unused(%n: index) {
  %p = vf.pool.create
  %m = vf.pool.alloc %p(%n) : memref<?xf32>
  vf.pool.free %p, %m : memref<?xf32>
  vf.pool.destroy %p
  return
}

// One that is used stays.
// CHECK-LABEL: func @used
// CHECK: vf.pool.create
// CHECK: vf.pool.alloc
// CHECK: vf.pool.destroy
func.func @used(%n: index, %v: f32) {
  %p = vf.pool.create
  %m = vf.pool.alloc %p(%n) : memref<?xf32>
  memref.store %v, %m[%n] : memref<?xf32>
  vf.pool.destroy %p
  return
}

// CHECK-LABEL: func @constant
// CHECK: vf.pool.alloc %{{.*}}(%{{.*}}) : memref<8x?xf32>
func.func @constant(%p: !vf.pool, %n: index, %v: f32) -> memref<?x?xf32> {
  %c8 = arith.constant 8 : index
  %m = vf.pool.alloc %p(%c8, %n) : memref<?x?xf32>
  return %m : memref<?x?xf32>
}

// Side by side, one notify does for both.
// CHECK-LABEL: func @twice
// CHECK-COUNT-1: vf.notify
// CHECK-NOT: vf.notify
func.func @twice(%m: memref<i32>) {
  vf.notify %m : memref<i32>
  vf.notify %m : memref<i32>
  return
}

// With a store between them, waiters of the first may have looked too early.
// CHECK-LABEL: func @apart
// CHECK: vf.notify
// CHECK: memref.store
// CHECK: vf.notify
func.func @apart(%m: memref<i32>, %v: i32) {
  vf.notify %m : memref<i32>
  memref.store %v, %m[] : memref<i32>
  vf.notify %m : memref<i32>
  return
}

// Waits take time: they are neither dead nor the same.
// CHECK-LABEL: func @time
// CHECK-COUNT-2: vf.spin_wait
// CHECK: vf.relax
func.func @time(%m: memref<i32>, %v: i32, %s: i64) {
  %0 = vf.spin_wait %m, %v, %s : memref<i32>, i32
  %1 = vf.spin_wait %m, %v, %s : memref<i32>, i32
  vf.relax
  return
}
