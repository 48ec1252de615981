// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op in its textual form and in bytecode is the same op again.
//
// REQUIRES: mlir
// RUN: vf-opt %s | vf-opt | FileCheck %s
// RUN: vf-opt %s --emit-bytecode | vf-opt | FileCheck %s
// RUN: %vf_mlir_opt %s | FileCheck %s
// RUN: vf-opt %s --mlir-print-op-generic | vf-opt | FileCheck %s

// CHECK-LABEL: func @waits
func.func @waits(%m: memref<4x?xi32>, %p: !llvm.ptr, %i: index, %v: i32, %b: i8,
                 %f: f64, %s: i64) {
  // CHECK: vf.relax
  vf.relax
  // CHECK: vf.spin_wait %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}, %{{.*}} notified : memref<4x?xi32>, i32
  %0 = vf.spin_wait %m[%i, %i], %v, %s notified : memref<4x?xi32>, i32
  // CHECK: vf.spin_wait %{{.*}}, %{{.*}}, %{{.*}} no_sleep trylock : !llvm.ptr, i8
  %1 = vf.spin_wait %p, %b, %0 no_sleep trylock : !llvm.ptr, i8
  // CHECK: vf.spin_wait %{{.*}}, %{{.*}}, %{{.*}} : !llvm.ptr, f64
  %2 = vf.spin_wait %p, %f, %1 : !llvm.ptr, f64
  // CHECK: vf.backoff %{{[0-9]+}} no_sleep
  %3 = vf.backoff %2 no_sleep
  // CHECK: vf.notify %{{.*}}[%{{.*}}, %{{.*}}] : memref<4x?xi32>
  vf.notify %m[%i, %i] : memref<4x?xi32>
  // CHECK: vf.notify %{{.*}} : !llvm.ptr
  vf.notify %p : !llvm.ptr
  return
}

// CHECK-LABEL: func @pools
func.func @pools(%n: index) {
  // CHECK: %[[P:.*]] = vf.pool.create
  %p = vf.pool.create
  // CHECK: %[[M:.*]] = vf.pool.alloc %[[P]](%{{.*}}) {alignment = 64 : i64} : memref<?x4xf32>
  %m = vf.pool.alloc %p(%n) {alignment = 64 : i64} : memref<?x4xf32>
  // CHECK: vf.pool.alloc %[[P]]() : memref<f32>
  %k = vf.pool.alloc %p() : memref<f32>
  // CHECK: vf.pool.free %[[P]], %[[M]] : memref<?x4xf32>
  vf.pool.free %p, %m : memref<?x4xf32>
  // CHECK: vf.pool.destroy %[[P]]
  vf.pool.destroy %p
  return
}

// CHECK-LABEL: func @given(%{{.*}}: !vf.pool)
func.func @given(%p: !vf.pool) {
  return
}

// CHECK-LABEL: func @placed
func.func @placed(%m: memref<?xf64>) {
  // CHECK: vf.numa.place %{{.*}}, ft : memref<?xf64>
  vf.numa.place %m, ft : memref<?xf64>
  // CHECK: vf.numa.place %{{.*}}, r4k : memref<?xf64>
  vf.numa.place %m, r4k : memref<?xf64>
  // CHECK: vf.numa.place %{{.*}}, blocks : memref<?xf64>
  vf.numa.place %m, blocks : memref<?xf64>
  // CHECK: vf.numa.place %{{.*}}, weighted : memref<?xf64>
  vf.numa.place %m, weighted : memref<?xf64>
  return
}
