// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two threads hand a number back and forth, by loops that poll: with the waits in
// the runtime the last number is the same.
//
// REQUIRES: mlir
// RUN: vf-opt %s --convert-scf-to-cf --convert-to-llvm --reconcile-unrealized-casts | %vf_mlir_run | FileCheck %s
// RUN: vf-opt %s --vf-spin-to-wait --convert-scf-to-cf --convert-to-llvm --reconcile-unrealized-casts > %t.mlir
// RUN: FileCheck %s --check-prefix=CALLS < %t.mlir
// RUN: %vf_mlir_run %t.mlir | FileCheck %s
// CHECK: 1000
// CALLS-COUNT-2: llvm.call @vf_spin_wait

llvm.mlir.global internal @turn(0 : i32) : i32
llvm.func @pthread_create(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_join(i64, !llvm.ptr) -> i32

// Waits until the turn is %mine, then makes it one more; until %last.
llvm.func internal @play(%first: i32, %last: i32) {
  %2 = llvm.mlir.constant(2 : i32) : i32
  %1 = llvm.mlir.constant(1 : i32) : i32
  %p = llvm.mlir.addressof @turn : !llvm.ptr
  llvm.br ^next(%first : i32)
^next(%mine: i32):
  llvm.br ^poll
^poll:
  %v = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  %c = llvm.icmp "ne" %v, %mine : i32
  llvm.cond_br %c, ^poll, ^mine
^mine:
  %n = llvm.add %mine, %1 : i32
  llvm.store %n, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr
  %m = llvm.add %mine, %2 : i32
  %again = llvm.icmp "slt" %m, %last : i32
  llvm.cond_br %again, ^next(%m : i32), ^done
^done:
  llvm.return
}

llvm.func internal @other(%unused: !llvm.ptr) -> !llvm.ptr {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %last = llvm.mlir.constant(1000 : i32) : i32
  llvm.call @play(%1, %last) : (i32, i32) -> ()
  llvm.return %unused : !llvm.ptr
}

llvm.func @main() -> i32 {
  %0 = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i64) : i64
  %last = llvm.mlir.constant(1000 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %id = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  %f = llvm.mlir.addressof @other : !llvm.ptr
  %e = llvm.call @pthread_create(%id, %null, %f, %null) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.call @play(%0, %last) : (i32, i32) -> ()
  %t = llvm.load %id : !llvm.ptr -> i64
  %j = llvm.call @pthread_join(%t, %null) : (i64, !llvm.ptr) -> i32
  %p = llvm.mlir.addressof @turn : !llvm.ptr
  llvm.br ^poll
^poll:
  %v = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  %c = llvm.icmp "ne" %v, %last : i32
  llvm.cond_br %c, ^poll, ^done
^done:
  llvm.return %v : i32
}
