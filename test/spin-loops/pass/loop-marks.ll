; Part of the vfriendly project, under the Apache License v2.0 with LLVM
; Exceptions. See LICENSE for license information.
; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Marks that an earlier run has left on loops, which were inlined since then
; into functions without a mark.
;
; RUN: %vf_opt -passes='vf-spin-loops,verify' -S %s | FileCheck %s

target triple = "x86_64-pc-linux-gnu"

; Its function was to be kept.
; CHECK-LABEL: define void @kept(
; CHECK-NOT: @vf_spin_wait_or_fallback
; CHECK: ret void
define void @kept(ptr %p) {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr %p acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit, !llvm.loop !0
exit:
  ret void
}

; Twin: nobody has asked for that.
; CHECK-LABEL: define void @not_kept(
; CHECK: @vf_spin_wait_or_fallback(ptr %p
define void @not_kept(ptr %p) {
entry:
  br label %loop
loop:
  %v = load atomic i32, ptr %p acquire, align 4
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %exit
exit:
  ret void
}

; The inner loop waits for the lock already, by that run's decision.
; CHECK-LABEL: define void @waits_inside(
; CHECK-NOT: @vf_spin_wait_or_fallback
; CHECK: ret void
define void @waits_inside(ptr %lock) {
entry:
  br label %try
try:
  %old = atomicrmw xchg ptr %lock, i32 1 acquire
  %got = icmp eq i32 %old, 0
  br i1 %got, label %exit, label %look
look:
  %v = load atomic i32, ptr %lock monotonic, align 4
  %c = icmp ne i32 %v, 0
  br i1 %c, label %look, label %try, !llvm.loop !2
exit:
  ret void
}

!0 = distinct !{!0, !1}
!1 = !{!"vf.spin.keep"}
!2 = distinct !{!2, !3}
!3 = !{!"vf.spin.decided"}
