// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that look like waits and are none, or would change their bound in time.
//
// REQUIRES: mlir
// RUN: vf-opt %s --vf-spin-to-wait --remarks-filter='vf-spin-to-wait' --remark-policy=all 2>&1 | FileCheck %s --implicit-check-not=vf.spin_wait --implicit-check-not=vf.notify

// A bound in iterations is a bound in time, which a wait would stretch.
// CHECK-DAG: it counts, or carries a value from one iteration to the next
func.func @bounded(%m: memref<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.while (%k = %c0) : (i32) -> i32 {
    %v = memref.load %m[] : memref<i32>
    %e = arith.cmpi eq, %v, %c0 : i32
    %l = arith.cmpi slt, %k, %n : i32
    %c = arith.andi %e, %l : i1
    scf.condition(%c) %k : i32
  } do {
  ^bb0(%k: i32):
    %k1 = arith.addi %k, %c1 : i32
    scf.yield %k1 : i32
  }
  return
}

// A search: each iteration looks elsewhere.
func.func @search(%m: memref<?xi32>) -> index {
  %c0 = arith.constant 0 : i32
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %r = scf.while (%i = %i0) : (index) -> index {
    %v = memref.load %m[%i] : memref<?xi32>
    %c = arith.cmpi eq, %v, %c0 : i32
    scf.condition(%c) %i : index
  } do {
  ^bb0(%i: index):
    %n = arith.addi %i, %i1 : index
    scf.yield %n : index
  }
  return %r : index
}

// It works while it looks.
func.func @works(%m: memref<i32>, %k: memref<i32>) {
  %c0 = arith.constant 0 : i32
  scf.while : () -> () {
    %v = memref.load %m[] : memref<i32>
    memref.store %v, %k[] : memref<i32>
    %c = arith.cmpi eq, %v, %c0 : i32
    scf.condition(%c)
  } do {
    scf.yield
  }
  return
}

// Two places: which of them to wait on?
// CHECK-DAG: kept: it polls several places
func.func @two(%m: memref<i32>, %k: memref<i32>) {
  %c0 = arith.constant 0 : i32
  scf.while : () -> () {
    %v = memref.load %m[] : memref<i32>
    %w = memref.load %k[] : memref<i32>
    %s = arith.ori %v, %w : i32
    %c = arith.cmpi eq, %s, %c0 : i32
    scf.condition(%c)
  } do {
    scf.yield
  }
  return
}

// It ends by something else.
// CHECK-DAG: kept: its exit does not depend on what it polls
func.func @otherwise(%m: memref<i32>, %c: i1) {
  scf.while : () -> () {
    %v = memref.load %m[] : memref<i32>
    scf.condition(%c)
  } do {
    scf.yield
  }
  return
}

// A retry with what it read: it may succeed at once.
llvm.func @retry(%p: !llvm.ptr) {
  %1 = llvm.mlir.constant(1 : i32) : i32
  llvm.br ^l
^l:
  %v = llvm.load %p : !llvm.ptr -> i32
  %n = llvm.add %v, %1 : i32
  %r = llvm.cmpxchg %p, %v, %n acq_rel monotonic : !llvm.ptr, i32
  %ok = llvm.extractvalue %r[1] : !llvm.struct<(i32, i1)>
  llvm.cond_br %ok, ^x, ^l
^x:
  llvm.return
}

// The runtime takes a plain pointer.
// CHECK-DAG: kept: the polled memory's layout or memory space is not supported
llvm.func @space(%p: !llvm.ptr<3>) {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.br ^l
^l:
  %v = llvm.load volatile %p : !llvm.ptr<3> -> i32
  %c = llvm.icmp "eq" %v, %0 : i32
  llvm.cond_br %c, ^l, ^x
^x:
  llvm.return
}

// normalize-memrefs must still see only operations that it knows.
// CHECK-DAG: kept: the polled memory's layout or memory space is not supported
func.func @layout(%m: memref<8xi32, affine_map<(i) -> (i mod 2)>>, %i: index) {
  %c0 = arith.constant 0 : i32
  scf.while : () -> () {
    %v = memref.load %m[%i] : memref<8xi32, affine_map<(i) -> (i mod 2)>>
    %c = arith.cmpi eq, %v, %c0 : i32
    scf.condition(%c)
  } do {
    scf.yield
  }
  return
}

// The runtime reads the value with one atomic load.
// CHECK-DAG: kept: the polled value may not be aligned
llvm.func @packed(%p: !llvm.ptr) {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.br ^l
^l:
  %v = llvm.load volatile %p {alignment = 1 : i64} : !llvm.ptr -> i32
  %c = llvm.icmp "eq" %v, %0 : i32
  llvm.cond_br %c, ^l, ^x
^x:
  llvm.return
}

// It ends when two polls agree: a wait for a change would delay that.
// CHECK-DAG: kept: its exit depends on what an earlier iteration polled
func.func @settles(%m: memref<i32>) -> i32 {
  %first = arith.constant -1 : i32
  %r = scf.while (%last = %first) : (i32) -> i32 {
    %v = memref.load %m[] : memref<i32>
    %c = arith.cmpi ne, %v, %last : i32
    scf.condition(%c) %v : i32
  } do {
  ^bb0(%v: i32):
    scf.yield %v : i32
  }
  return %r : i32
}

// CHECK-DAG: kept: its exit depends on what an earlier iteration polled
llvm.func @settles_in_blocks(%p: !llvm.ptr, %first: i32) -> i32 {
  llvm.br ^l(%first : i32)
^l(%last: i32):
  %v = llvm.load volatile %p : !llvm.ptr -> i32
  %c = llvm.icmp "ne" %v, %last : i32
  llvm.cond_br %c, ^l(%v : i32), ^x
^x:
  llvm.return %v : i32
}
