// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op becomes a call of libvfrt, by either lowering.
//
// REQUIRES: mlir, host-x86_64
// RUN: vf-opt %s --convert-vf-to-llvm --convert-to-llvm --reconcile-unrealized-casts | FileCheck %s
// RUN: vf-opt %s --convert-to-llvm --reconcile-unrealized-casts | FileCheck %s
// RUN: vf-opt %s --convert-to-llvm --reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir | opt -passes=verify -S -o /dev/null

// CHECK-LABEL: llvm.func @waits
func.func @waits(%m: memref<4x?xi32>, %p: !llvm.ptr, %i: index, %v: i32, %f: f32,
                 %s: i64) {
  // CHECK: llvm.inline_asm has_side_effects{{.*}} "pause"
  vf.relax
  // VF_SPIN_NOTIFIED, VF_SPIN_UNSEEN and four bytes.
  // CHECK: %[[SEEN:.*]] = llvm.zext %{{.*}} : i32 to i64
  // CHECK: %[[AT:.*]] = llvm.getelementptr
  // CHECK: %[[HOW:.*]] = llvm.mlir.constant(8452 : i32)
  // CHECK: llvm.call @vf_spin_wait(%[[AT]], %[[SEEN]], %{{.*}}, %[[HOW]])
  %0 = vf.spin_wait %m[%i, %i], %v, %s notified : memref<4x?xi32>, i32
  // CHECK: llvm.bitcast %{{.*}} : f32 to i32
  // CHECK: llvm.mlir.constant(1540 : i32)
  // CHECK: llvm.call @vf_spin_wait
  %1 = vf.spin_wait %p, %f, %0 no_sleep trylock : !llvm.ptr, f32
  // CHECK: llvm.call @vf_spin_backoff
  %2 = vf.backoff %1 no_sleep
  // CHECK: llvm.call @vf_spin_notify
  vf.notify %m[%i, %i] : memref<4x?xi32>
  return
}

// CHECK-LABEL: llvm.func @pools
func.func @pools(%n: index) {
  // CHECK: %[[P:.*]] = llvm.call @vf_pool_create()
  %p = vf.pool.create
  // CHECK: llvm.mlir.constant(64 : i64)
  // CHECK: llvm.call @vf_pool_aligned_alloc(%[[P]]
  %m = vf.pool.alloc %p(%n) {alignment = 64 : i64} : memref<?x4xf32>
  // CHECK: llvm.call @vf_pool_alloc(%[[P]]
  %k = vf.pool.alloc %p() : memref<f32>
  // Vectors are loaded with their natural alignment.
  // CHECK: llvm.mlir.constant(32 : i64)
  // CHECK: llvm.call @vf_pool_aligned_alloc(%[[P]]
  %v = vf.pool.alloc %p(%n) : memref<?xvector<2x5xf32>>
  // CHECK: llvm.call @vf_pool_free(%[[P]]
  vf.pool.free %p, %m : memref<?x4xf32>
  // CHECK: llvm.call @vf_pool_destroy(%[[P]])
  vf.pool.destroy %p
  return
}

// CHECK-LABEL: llvm.func @placed
func.func @placed(%m: memref<?xf64>) {
  // CHECK: llvm.mlir.constant(2 : i32)
  // CHECK: llvm.call @vf_numa_place
  vf.numa.place %m, blocks : memref<?xf64>
  return
}
