// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the verifiers reject, each with the place and what is wrong.
//
// REQUIRES: mlir
// RUN: vf-opt %s -split-input-file -verify-diagnostics

func.func @indices(%m: memref<4x?xi32>, %i: index, %v: i32, %s: i64) {
  // expected-error @+1 {{'vf.spin_wait' op has 1 indices for a memref of rank 2}}
  %0 = vf.spin_wait %m[%i], %v, %s : memref<4x?xi32>, i32
  return
}

// -----

func.func @pointer(%p: !llvm.ptr, %i: index) {
  // expected-error @+1 {{'vf.notify' op has 1 indices for a pointer}}
  vf.notify %p[%i] : !llvm.ptr
  return
}

// -----

func.func @unranked(%m: memref<*xi32>) {
  // expected-error @+1 {{'vf.notify' op operand #0 must be memref or pointer}}
  vf.notify %m : memref<*xi32>
  return
}

// -----

func.func @wide(%p: !llvm.ptr, %v: i128, %s: i64) {
  // expected-error @+1 {{'vf.spin_wait' op observes 'i128'; it needs an integer, index, float or pointer of 8, 16, 32 or 64 bits}}
  %0 = vf.spin_wait %p, %v, %s : !llvm.ptr, i128
  return
}

// -----

func.func @other(%m: memref<i32>, %v: i64, %s: i64) {
  // expected-error @+1 {{'vf.spin_wait' op observes 'i64' in a 'memref<i32>'}}
  %0 = vf.spin_wait %m, %v, %s : memref<i32>, i64
  return
}

// -----

func.func @sizes(%p: !vf.pool) {
  // expected-error @+1 {{'vf.pool.alloc' op has 0 sizes for 1 dynamic dimensions}}
  %0 = vf.pool.alloc %p() : memref<?xi32>
  return
}

// -----

func.func @layout(%p: !vf.pool) {
  // expected-error @+1 {{'vf.pool.alloc' op allocates memory of the identity layout only}}
  %0 = vf.pool.alloc %p() : memref<4xi32, strided<[2]>>
  return
}

// -----

func.func @space(%p: !vf.pool) {
  // expected-error @+1 {{'vf.pool.alloc' op allocates in the default memory space only}}
  %0 = vf.pool.alloc %p() : memref<4xi32, 3>
  return
}

// -----

func.func @alignment(%p: !vf.pool) {
  // expected-error @+1 {{attribute 'alignment' failed to satisfy constraint}}
  %0 = vf.pool.alloc %p() {alignment = 3 : i64} : memref<4xi32>
  return
}

// -----

func.func @strided(%m: memref<?xf64, strided<[2]>>) {
  // expected-error @+1 {{'vf.numa.place' op places memory of the identity layout only}}
  vf.numa.place %m, r4k : memref<?xf64, strided<[2]>>
  return
}

// -----

func.func @space(%m: memref<i32, 3>, %v: i32, %s: i64) {
  // expected-error @+1 {{'vf.spin_wait' op needs memory of the default memory space}}
  %0 = vf.spin_wait %m, %v, %s : memref<i32, 3>, i32
  return
}

// -----

func.func @address_space(%p: !llvm.ptr<1>) {
  // expected-error @+1 {{'vf.notify' op needs memory of the default memory space}}
  vf.notify %p : !llvm.ptr<1>
  return
}
