// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code of a device, code for a target without the runtime, and regions of unknown operations:
// nothing that calls the runtime is inserted.
//
// REQUIRES: mlir
// RUN: vf-opt %s --allow-unregistered-dialect --vf-default --remarks-filter='vf-.*' --remark-policy=all 2>&1 | FileCheck %s --implicit-check-not=vf.spin_wait --implicit-check-not=vf.pool --implicit-check-not=vf.numa --implicit-check-not=vf.notify
// CHECK-COUNT-7: kept: it may run where the runtime cannot be called
// CHECK: kept: it may run where the runtime cannot be called
// CHECK: kept: its size differs between iterations, and it may run where the runtime cannot be called
// CHECK-NOT: kept
// CHECK-LABEL: gpu.module

gpu.module @device {
  gpu.func @waits(%f: memref<i32>, %n: index) kernel {
    %zero = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.while : () -> () {
      %v = memref.load %f[] : memref<i32>
      %c = arith.cmpi eq, %v, %zero : i32
      scf.condition(%c)
    } do {
      scf.yield
    }
    scf.for %i = %c0 to %n step %c1 {
      %m = memref.alloc(%i) : memref<?xi32>
      memref.dealloc %m : memref<?xi32>
    }
    %b = memref.alloc(%n) : memref<?xi32>
    memref.store %zero, %b[%c0] : memref<?xi32>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      memref.store %zero, %b[%i] : memref<?xi32>
    }
    memref.dealloc %b : memref<?xi32>
    gpu.return
  }
}

llvm.func @kernel(%p: !llvm.ptr) attributes {nvvm.kernel} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  llvm.br ^l
^l:
  %v = llvm.load volatile %p : !llvm.ptr -> i32
  %c = llvm.icmp "eq" %v, %zero : i32
  llvm.cond_br %c, ^l, ^x
^x:
  llvm.return
}

module attributes {llvm.target_triple = "amdgcn-amd-amdhsa"} {
  func.func @offloaded(%f: memref<i32>) {
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %v = memref.load %f[] : memref<i32>
      %c = arith.cmpi eq, %v, %zero : i32
      scf.condition(%c)
    } do {
      scf.yield
    }
    return
  }
}

module attributes {llvm.target_triple = "armv7-unknown-linux-gnueabihf"} {
  func.func @narrow(%f: memref<i32>) {
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %v = memref.load %f[] : memref<i32>
      %c = arith.cmpi eq, %v, %zero : i32
      scf.condition(%c)
    } do {
      scf.yield
    }
    return
  }
}

func.func @target(%f: memref<i32>, %n: index) {
  %zero = arith.constant 0 : i32
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    scf.while : () -> () {
      %v = memref.load %f[] : memref<i32>
      %c = arith.cmpi eq, %v, %zero : i32
      scf.condition(%c)
    } do {
      scf.yield
    }
    gpu.terminator
  }
  omp.target {
    %p = llvm.mlir.zero : !llvm.ptr
    %z = llvm.mlir.constant(0 : i32) : i32
    llvm.br ^l
  ^l:
    %v = llvm.load volatile %p : !llvm.ptr -> i32
    %c = llvm.icmp "eq" %v, %z : i32
    llvm.cond_br %c, ^l, ^x
  ^x:
    omp.terminator
  }
  "unknown.region"() ({
    scf.while : () -> () {
      %v = memref.load %f[] : memref<i32>
      %c = arith.cmpi eq, %v, %zero : i32
      scf.condition(%c)
    } do {
      scf.yield
    }
    "unknown.end"() : () -> ()
  }) : () -> ()
  return
}
