// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// REQUIRES: mlir
// RUN: vf-opt %s --vf-first-touch --remarks-filter='vf-first-touch' --remark-policy=all 2>&1 | FileCheck %s
// RUN: %vf_mlir_opt %s --pass-pipeline='builtin.module(vf-first-touch)' | FileCheck %s --check-prefix=CODE
// CHECK-DAG: placed as blocks
// CHECK-DAG: placed as r4k
// CHECK-DAG: smaller than 64 KiB
// CHECK-DAG: kept: a parallel loop uses it first

// CODE-LABEL: func @blocks
// CODE: %[[M:.*]] = memref.alloc
// CODE-NEXT: vf.numa.place %[[M]], blocks
func.func @blocks(%n: index, %v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc(%n) : memref<?x8xf64>
  linalg.fill ins(%v : f64) outs(%m : memref<?x8xf64>)
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %v, %m[%i, %c0] : memref<?x8xf64>
  }
  memref.dealloc %m : memref<?x8xf64>
  return
}

// OpenMP's loop in its parallel region.
// CODE-LABEL: func @openmp
// CODE: vf.numa.place %{{.*}}, blocks
func.func @openmp(%n: index, %v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %m[%i] : memref<?xf64>
  }
  omp.parallel {
    omp.wsloop {
      omp.loop_nest (%i) : index = (%c0) to (%n) step (%c1) {
        %x = memref.load %m[%i] : memref<?xf64>
        omp.yield
      }
    }
    omp.terminator
  }
  return
}

// Which thread uses which part does not show.
// CODE-LABEL: func @scattered
// CODE: vf.numa.place %{{.*}}, r4k
func.func @scattered(%n: index, %v: f64, %where: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %m[%i] : memref<?xf64>
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %j = memref.load %where[%i] : memref<?xindex>
    memref.store %v, %m[%j] : memref<?xf64>
  }
  return
}

// Where all is right already: the team touches it first.
// CODE-LABEL: func @parallel_first
// CODE-NOT: vf.numa.place
func.func @parallel_first(%n: index, %v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %v, %m[%i] : memref<?xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %m[%i] : memref<?xf64>
  }
  return
}

// Less than the caches hold.
// CODE-LABEL: func @small
// CODE-NOT: vf.numa.place
func.func @small(%v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000 : index
  %m = memref.alloc() : memref<1000xf64>
  linalg.fill ins(%v : f64) outs(%m : memref<1000xf64>)
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %v, %m[%i] : memref<1000xf64>
  }
  return
}

// Only one thread uses it: first touch is right.
// CODE-LABEL: func @serial
// CODE-NOT: vf.numa.place
func.func @serial(%n: index, %v: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %m[%i] : memref<?xf64>
  }
  return
}
