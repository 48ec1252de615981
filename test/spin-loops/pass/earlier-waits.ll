; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A wait of an earlier run whose address LLVM has folded to a constant, or whose
; loop it has undone: nothing tells where it waits, so nobody notifies it.
;
; RUN: %vf_opt -passes='vf-spin-loops,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"
declare preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr, i64, i64, i32)

; CHECK-LABEL: define void @folded(
; CHECK: @vf_spin_wait_or_fallback(ptr poison, i64 0, i64 0, i32 0)
define void @folded(ptr %p) {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr %p acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %failed, label %exit
failed:
  %s = call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr poison, i64 0, i64 0, i32 0)
  br label %loop
exit:
  ret void
}

; CHECK-LABEL: define void @undone(
; CHECK: @vf_spin_wait_or_fallback(ptr @flag, i64 0, i64 0, i32 4)
@flag = global i32 0
define void @undone() {
  %s = call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @flag, i64 0, i64 0, i32 4)
  %v = load atomic i32, ptr @flag acquire, align 4
  ret void
}

; In its loop the address is found, and a writer of it notifies: 4 and 256.
; CHECK-LABEL: define void @found(
; CHECK: @vf_spin_wait_or_fallback(ptr @other, i64 0, i64 0, i32 8452)
@other = global i32 0
define void @found() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @other acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %failed, label %exit
failed:
  %s = call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @other, i64 0, i64 0, i32 4)
  br label %loop
exit:
  ret void
}

; Two waits that LLVM has merged into one, which chooses what it is told.
; CHECK-LABEL: define void @merged(
; CHECK: @vf_spin_wait_or_fallback(ptr @other, i64 0, i64 0, i32 %how)
define void @merged(i32 %how) {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @other acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %failed, label %exit
failed:
  %s = call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr @other, i64 0, i64 0, i32 %how)
  br label %loop
exit:
  ret void
}

; CHECK-LABEL: define void @set(
; CHECK-NOT: vf_spin_notify(ptr @flag)
; CHECK: call void @vf_spin_notify(ptr @other)
define void @set() {
  store atomic i32 1, ptr @flag release, align 4
  store atomic i32 1, ptr @other release, align 4
  ret void
}
