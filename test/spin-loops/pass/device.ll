; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s --implicit-check-not="call {{.*}}@vf_spin_wait"

target triple = "x86_64-pc-linux-gnu"

; LOOPS: constant: loop: device register;
; Why not: the device does not notify, and a read may have an effect.
; CHECK-LABEL: define void @constant(
; CHECK-NOT: sse2.pause
; CHECK: ret void
define void @constant() {
entry:
  br label %loop
loop:
  %v = load volatile i32, ptr inttoptr (i64 4276092960 to ptr)
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: address_space: loop: device register;
; Why not: another address space is not memory shared between threads.
; CHECK-LABEL: define void @address_space(
; CHECK-NOT: sse2.pause
; CHECK: ret void
define void @address_space(ptr addrspace(256) %p) {
entry:
  br label %loop
loop:
  %v = load volatile i32, ptr addrspace(256) %p
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; LOOPS: unknown: loop: flag poll;
; May be a device or not: the hint is harmless.
; CHECK-LABEL: define void @unknown(
; CHECK: sse2.pause
; CHECK: ret void
define void @unknown(ptr %p) {
entry:
  br label %loop
loop:
  %v = load volatile i32, ptr %p
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}
