// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that poll, as scf.while, as blocks of cf, and as blocks of the LLVM dialect.
//
// REQUIRES: mlir
// RUN: %vf_mlir_opt %s --pass-pipeline='builtin.module(vf-spin-to-wait)' --remarks-filter='vf-spin-to-wait' --remark-policy=all 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: vf-opt %s --vf-spin-to-wait | FileCheck %s
// Twice is as good as once.
// RUN: vf-opt %s --vf-spin-to-wait --vf-spin-to-wait | FileCheck %s
// REMARK-COUNT-2: blocked until notified
// REMARK: waits in the runtime

memref.global "private" @flag : memref<i32> = dense<0>
llvm.mlir.global internal @ready(0 : i8) : i8
memref.global @shared : memref<i32> = dense<0>

// The writers of a private symbol are all in sight: they notify.
// CHECK-LABEL: func @structured
// CHECK: %[[S0:.*]] = arith.constant 0 : i64
// CHECK: scf.while (%[[S:.*]] = %[[S0]]) : (i64) -> (i64, i32)
// CHECK:   %[[V:.*]] = memref.load
// CHECK:   scf.condition(%{{.*}}) %[[S]], %[[V]]
// CHECK: ^bb0(%[[STATE:.*]]: i64, %[[SEEN:.*]]: i32):
// CHECK:   %[[N:.*]] = vf.spin_wait %{{.*}}, %[[SEEN]], %[[STATE]] notified : memref<i32>, i32
// CHECK-NEXT: scf.yield %[[N]]
func.func @structured() {
  %c0 = arith.constant 0 : i32
  %f = memref.get_global @flag : memref<i32>
  scf.while : () -> () {
    %v = memref.load %f[] : memref<i32>
    %c = arith.cmpi eq, %v, %c0 : i32
    scf.condition(%c)
  } do {
    scf.yield
  }
  return
}

// What the loop returns stays what it was.
// CHECK-LABEL: func @returns
// CHECK: %[[R:.*]]:3 = scf.while
// CHECK: return %[[R]]#0
func.func @returns(%m: memref<?xi32>, %i: index) -> i32 {
  %c0 = arith.constant 0 : i32
  %r = scf.while : () -> i32 {
    %v = memref.load %m[%i] : memref<?xi32>
    %c = arith.cmpi eq, %v, %c0 : i32
    scf.condition(%c) %v : i32
  } do {
  ^bb0(%unused: i32):
    vf.relax
    scf.yield
  }
  return %r : i32
}

// CHECK-LABEL: func @sets
// CHECK: memref.store
// CHECK-NEXT: vf.notify
// CHECK: memref.atomic_rmw
// CHECK-NEXT: vf.notify
func.func @sets() {
  %c1 = arith.constant 1 : i32
  %f = memref.get_global @flag : memref<i32>
  memref.store %c1, %f[] : memref<i32>
  %0 = memref.atomic_rmw addi %c1, %f[] : (i32, memref<i32>) -> i32
  return
}

// The wait is on the way back only.
// CHECK-LABEL: func @blocks
// CHECK: cf.br ^[[H:.*]](%{{.*}} : i64)
// CHECK: ^[[H]](%[[S:.*]]: i64):
// CHECK: %[[V:.*]] = memref.load
// CHECK: cf.cond_br %{{.*}}, ^[[W:.*]], ^{{.*}}
// CHECK: ^[[W]]:
// CHECK: %[[N:.*]] = vf.spin_wait %{{.*}}, %[[V]], %[[S]] : memref<?xi32>, i32
// CHECK: cf.br ^[[H]](%[[N]] : i64)
func.func @blocks(%m: memref<?xi32>, %i: index) {
  %c0 = arith.constant 0 : i32
  cf.br ^l
^l:
  %v = memref.load %m[%i] : memref<?xi32>
  %c = arith.cmpi eq, %v, %c0 : i32
  cf.cond_br %c, ^l, ^x
^x:
  return
}

// CHECK-LABEL: llvm.func @lowered
// CHECK: llvm.load volatile
// CHECK: vf.spin_wait %{{.*}}, %{{.*}}, %{{.*}} notified : !llvm.ptr, i8
llvm.func @lowered() {
  %0 = llvm.mlir.constant(0 : i8) : i8
  %p = llvm.mlir.addressof @ready : !llvm.ptr
  llvm.br ^l
^l:
  %v = llvm.load volatile %p : !llvm.ptr -> i8
  %c = llvm.icmp "eq" %v, %0 : i8
  llvm.cond_br %c, ^l, ^x
^x:
  llvm.return
}

// CHECK-LABEL: llvm.func @lowered_sets
// CHECK: llvm.store
// CHECK-NEXT: vf.notify
llvm.func @lowered_sets() {
  %1 = llvm.mlir.constant(1 : i8) : i8
  %p = llvm.mlir.addressof @ready : !llvm.ptr
  llvm.store volatile %1, %p : i8, !llvm.ptr
  llvm.return
}

// A failed compare-and-swap has seen what it failed on.
// CHECK-LABEL: llvm.func @lock
// CHECK: %[[R:.*]] = llvm.cmpxchg
// CHECK: %[[SEEN:.*]] = llvm.extractvalue %[[R]][0]
// CHECK: vf.spin_wait %{{.*}}, %[[SEEN]], %{{.*}} : !llvm.ptr, i32
llvm.func @lock(%p: !llvm.ptr) {
  %0 = llvm.mlir.constant(0 : i32) : i32
  %1 = llvm.mlir.constant(1 : i32) : i32
  llvm.br ^l
^l:
  %r = llvm.cmpxchg %p, %0, %1 acq_rel monotonic : !llvm.ptr, i32
  %ok = llvm.extractvalue %r[1] : !llvm.struct<(i32, i1)>
  llvm.cond_br %ok, ^x, ^l
^x:
  llvm.return
}

// Other modules may write a public symbol: its writers here promise nothing.
// CHECK-LABEL: func @public
// CHECK: vf.spin_wait %{{.*}}, %{{.*}}, %{{[^ ]*}} : memref<i32>, i32
func.func @public() {
  %c0 = arith.constant 0 : i32
  %f = memref.get_global @shared : memref<i32>
  scf.while : () -> () {
    %v = memref.load %f[] : memref<i32>
    %c = arith.cmpi eq, %v, %c0 : i32
    scf.condition(%c)
  } do {
    scf.yield
  }
  return
}

// The memory's value reaches only the result: no exit depends on an earlier one.
// CHECK-LABEL: func @carries_result
// CHECK: vf.spin_wait
func.func @carries_result(%m: memref<i32>, %zero: i32) -> i32 {
  %r = scf.while (%last = %zero) : (i32) -> i32 {
    %v = memref.load %m[] : memref<i32>
    %c = arith.cmpi eq, %v, %zero : i32
    scf.condition(%c) %v : i32
  } do {
  ^bb0(%v: i32):
    scf.yield %v : i32
  }
  return %r : i32
}
