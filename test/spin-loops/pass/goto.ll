; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Shapes that goto makes: several latches, several exits, a loop in a switch.
;
; RUN: %print_loops %s 2>&1 | FileCheck %s --check-prefix=LOOPS --implicit-check-not=not_
; RUN: %vf_opt -passes='vf-spin-loops<mode=block>,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

@flag = global i32 0
@other = global i32 0

; LOOPS: two_latches: loop: flag poll;
; CHECK-LABEL: define i32 @two_latches(
; One call on the one back edge made of two.
; CHECK-COUNT-1: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
; CHECK-NOT: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
; CHECK: ret i32
define i32 @two_latches() {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr @flag acquire, align 4
  %z = icmp eq i32 %v, 0
  br i1 %z, label %loop, label %second
second:
  %one = icmp eq i32 %v, 1
  br i1 %one, label %loop, label %exit
exit:
  ret i32 %v
}

; LOOPS: two_entries: loop: flag poll;
; CHECK-LABEL: define void @two_entries(
; CHECK: call preserve_mostcc i64 @vf_spin_wait_or_fallback(
; CHECK: ret void
define void @two_entries(i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  br label %loop
b:
  br label %loop
loop:
  %n = phi i32 [ 0, %a ], [ 1, %b ], [ %n, %loop ]
  %v = load atomic i32, ptr @flag acquire, align 4
  %z = icmp eq i32 %v, %n
  br i1 %z, label %loop, label %exit
exit:
  ret void
}

; Why not: an irreducible loop has two headers, and is no loop to LLVM.
; CHECK-LABEL: define void @not_irreducible(
; CHECK-NOT: vf_spin_wait
; CHECK: ret void
define void @not_irreducible(i1 %c) {
entry:
  br i1 %c, label %left, label %right
left:
  %v = load atomic i32, ptr @flag acquire, align 4
  %z = icmp eq i32 %v, 0
  br i1 %z, label %right, label %exit
right:
  %w = load atomic i32, ptr @other acquire, align 4
  %y = icmp eq i32 %w, 0
  br i1 %y, label %left, label %exit
exit:
  ret void
}

define void @set() {
  store atomic i32 2, ptr @flag release, align 4
  store atomic i32 2, ptr @other release, align 4
  ret void
}
